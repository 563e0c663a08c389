"""Reading after repeated deaths at this position: a handful at a time, or one, noted durably before it is touched.

Only here the loop waits for the helper; the status clock runs on meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

import structlog

from cdc_relay.bell import Bell
from cdc_relay.delivery.intake import Intake
from cdc_relay.delivery.outcome import Outcome
from cdc_relay.dispatch.caution import SURVIVED_SECONDS
from cdc_relay.dispatch.dispatch import Dispatch
from cdc_relay.errors import AwayError
from cdc_relay.model import Identity
from cdc_relay.session.drain import Drain
from cdc_relay.session.pulse import Pulse
from cdc_relay.session.stream import Stream
from cdc_relay.standstill import Standstill

__all__ = ["CarefulReader"]

log = structlog.get_logger()

_NOTE_SECONDS = 1.0  # between two tries to note a record
_HANDFUL_FRAMES = 500  # that are looked at for the rows of a handful: the status clock waits meanwhile


class CarefulReader:
    def __init__(
        self,
        stream: Stream,
        intake: Intake,
        dispatch: Dispatch,
        *,
        drain: Drain,
        pulse: Pulse,
        standstill: Standstill,
        bell: Bell,
        clock: Callable[[], float],
    ) -> None:
        self._stream = stream
        self._intake = intake
        self._dispatch = dispatch
        self._caution = dispatch.caution
        self._drain = drain
        self._pulse = pulse
        self._standstill = standstill
        self._bell = bell
        self._clock = clock
        self._frame: bytes | memoryview | None = None  # read, and not yet noted
        self._note_at = clock()
        self._noted_count = 0  # records behind the open note

    @property
    def has_frame(self) -> bool:
        """One is read and not yet taken: nothing may be read behind it."""
        return self._frame is not None

    def gulp(self) -> bool:
        """One frame, or a handful of rows. True while there is more."""
        if not self._drain.is_empty or self._clock() < self._note_at:
            self._pulse.heard_at = self._clock()
            return False  # waiting for the broker or the lot
        if self._noted_count:
            self._close_note()
        if self._is_over:
            self._end()
            return True
        frame, self._frame = self._frame or self._stream.read(), None
        if frame is None:
            if self._stream.is_receiving:
                self._pulse.heard_at = self._clock()  # a frame that takes long to arrive is no silence
            else:
                self._rest()
            return False
        self._pulse.heard_at = self._clock()
        identity = self._intake.identify(frame)
        if identity is None:
            self._intake.take(frame)
        else:
            self._take_row(frame, identity)
        return True

    @property
    def _is_over(self) -> bool:
        """Nothing is in our hands, and the slot can move: before that, the next run would come here again."""
        return self._caution.is_spent and self._frame is None and self._intake.ledger.settled_lsn > 0

    def _rest(self) -> None:
        if not self._intake.ledger.in_transaction:
            self._caution.rest(self._clock(), self._intake.ledger.received_lsn)
            if self._caution.is_spent:
                self._end()

    def _end(self) -> None:
        """If it cannot be written down, the next start is careful once more."""
        if self._caution.notebook.has_handfuls:
            self._wait_for(self._caution.notebook.forget_handfuls())
        self._caution.end()

    def _take_row(self, frame: bytes | memoryview, identity: Identity) -> None:
        caution, notebook = self._caution, self._caution.notebook
        count = caution.handful_from(identity)
        if notebook.is_culprit(identity):
            self._hand_over(self._intake.condemn(frame, notebook.sentence(identity)))
            caution.found()
            return
        if not self._wait_for(notebook.open_note(identity, count)):
            self._frame, self._note_at = frame, self._clock() + _NOTE_SECONDS
            return
        self._hand_over(self._intake.take(frame))
        self._noted_count = 1 + self._take_more(count - 1)
        # Whatever a record does to this process, it does now. A broker that does not answer is another matter: nobody
        # stays noted alone meanwhile. A handful does, of which some may not be out yet: it makes nobody a culprit.
        self._drain.run(self._clock() + SURVIVED_SECONDS)
        if count == 1 or self._drain.is_empty:
            self._close_note()

    def _take_more(self, count: int) -> int:
        """Rows that are there already, but none that goes alone; how many."""
        taken = 0
        for _ in range(_HANDFUL_FRAMES):
            frame = None if taken == count or self._intake.window.is_full else self._stream.read()
            if frame is None:
                break
            identity = self._intake.identify(frame)
            if identity is not None and not self._caution.notebook.is_unknown(identity):
                self._frame = frame
                break
            self._hand_over(self._intake.take(frame))
            taken += identity is not None
        return taken

    def _close_note(self) -> None:
        count, self._noted_count = self._noted_count, 0
        self._wait_for(self._caution.notebook.close_note())
        self._caution.passed(count)
        self._confirm()

    def _confirm(self) -> None:
        """At once: the next run must not begin further back than needed."""
        self._drain.confirm()
        self._intake.reply_is_due = True  # below the ceiling nothing had to be raised, and nothing was reported
        self._pulse.heard_at = now = self._clock()
        self._standstill.forgive(now)

    def _hand_over(self, outcome: Outcome | None) -> None:
        if outcome is not None:
            self._dispatch.hand_over(outcome)

    def _wait_for(self, future: Future[None]) -> bool:
        while not future.done():
            self._bell.wait(0.05)
            self._bell.hush()
            self._pulse.heard_at = now = self._clock()
            self._standstill.forgive(now)
            self._pulse.report_if_due(now)
        try:
            future.result()
        except AwayError as exc:
            log.warning("note_failed", reason=exc.message)
            return False
        return True
