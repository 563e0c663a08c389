"""Reading after repeated deaths at this position: one record at a time, noted durably before it is touched.

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

    @property
    def has_frame(self) -> bool:
        """One is read and not yet taken: nothing may be read behind it."""
        return self._frame is not None

    def gulp(self) -> bool:
        """One frame at most. True while there is more."""
        if not self._drain.is_empty or self._clock() < self._note_at:
            self._pulse.heard_at = self._clock()
            return False  # waiting for the broker or the lot, with no note open
        frame, self._frame = self._frame or self._stream.read(), None
        if frame is None:
            if not self._intake.ledger.in_transaction:
                self._caution.rest(self._clock(), self._intake.ledger.received_lsn)
            return False
        self._pulse.heard_at = self._clock()
        identity = self._intake.identify(frame)
        if identity is None:
            self._intake.take(frame)
        else:
            self._take_row(frame, identity)
        return True

    def _take_row(self, frame: bytes | memoryview, identity: Identity) -> None:
        caution, notebook = self._caution, self._caution.notebook
        if notebook.is_culprit(identity):
            self._hand_over(self._intake.condemn(frame, notebook.sentence(identity)))
            caution.found()
        elif self._wait_for(notebook.open_note(identity)):
            self._hand_over(self._intake.take(frame))
            # Whatever the record does to this process, it does now. A broker that does not answer is another matter.
            self._drain.run(self._clock() + SURVIVED_SECONDS)
            self._wait_for(notebook.close_note())
            caution.passed()
            self._confirm()
        else:
            self._frame, self._note_at = frame, self._clock() + _NOTE_SECONDS

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
