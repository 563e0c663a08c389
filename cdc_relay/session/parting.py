"""Taking leave of Postgres: nothing new is handed out, what is open comes back, and the last confirmation is heard."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from cdc_relay.delivery.intake import Intake
from cdc_relay.dispatch.dispatch import Dispatch
from cdc_relay.protocol import wire
from cdc_relay.session.drain import Drain
from cdc_relay.session.pulse import Pulse
from cdc_relay.session.stream import Stream

__all__ = ["Parting"]

log = structlog.get_logger()

_COMMIT_SECONDS = 0.2
_NAP_SECONDS = 0.005
_HANDSHAKE_SECONDS = 5.0
_GUARD_SECONDS = 1.0  # at least, for the last ceiling


class Parting:
    def __init__(
        self,
        stream: Stream,
        intake: Intake,
        dispatch: Dispatch,
        *,
        drain: Drain,
        pulse: Pulse,
        clock: Callable[[], float],
    ) -> None:
        self._stream = stream
        self._intake = intake
        self._dispatch = dispatch
        self._drain = drain
        self._pulse = pulse
        self._clock = clock
        self._has_begun = False

    def part(self, drain_seconds: float, *, may_read: bool) -> int:
        """What is left. A row may have been read and dropped the first time: never read on behind it."""
        deadline = self._clock() + drain_seconds
        self._dispatch.exit.is_shut = True
        may_read, self._has_begun = may_read and not self._has_begun, True
        if may_read:
            self._read_to_commit(self._clock() + min(drain_seconds, _COMMIT_SECONDS))
        self._drain.run(deadline)
        if not self._drain.confirm(max(_GUARD_SECONDS, min(drain_seconds, _HANDSHAKE_SECONDS))):
            log.warning("not_all_confirmed", consequence="records settled last will be delivered again")
        self._shake_hands(self._clock() + _HANDSHAKE_SECONDS)
        return self._intake.window.record_count + self._dispatch.unwritten_count

    def _read_to_commit(self, deadline: float) -> None:
        """A transaction of which only the Commit is unread would be delivered again whole: read that much."""
        while self._intake.ledger.in_transaction and self._clock() < deadline:
            frame = self._stream.read()
            if frame is None:
                self._stream.wait(_NAP_SECONDS)
            elif self._intake.identify(frame) is not None:
                return  # half read: it comes again whole, and this frame with it
            else:
                self._intake.take(frame)

    def _shake_hands(self, deadline: float) -> None:
        """Closing with unread data loses the last confirmation, so read and discard until the server has answered it.

        Twice: a keepalive may have been on its way before our question; the second answers the first for certain. What
        came while nobody read is no answer.
        """
        while self._stream.read() is not None and self._clock() < deadline:
            pass
        for _ in range(2):
            self._pulse.report(reply_requested=True)
            while (frame := self._stream.read()) is None or frame[0] != wire.KEEPALIVE:
                if frame is None:
                    self._stream.wait(0.1)
                if self._clock() > deadline:
                    log.warning("no_goodbye", consequence="records confirmed last may be delivered again")
                    return
