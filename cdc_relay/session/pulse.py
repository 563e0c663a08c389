"""Signs of life on the line, in both directions: status updates on a clock, and when the server was last heard.

What a status update confirms is the ledger's word alone, below the guard's ceiling.
"""

from __future__ import annotations

from cdc_relay.delivery.intake import Intake
from cdc_relay.errors import SourceError
from cdc_relay.session.ceiling import Ceiling
from cdc_relay.session.stream import Stream
from cdc_relay.session.timing import Timing

__all__ = ["Pulse"]


class Pulse:
    def __init__(self, stream: Stream, intake: Intake, ceiling: Ceiling, timing: Timing, *, now: float) -> None:
        self.heard_at = now
        self.confirmed_lsn = 0  # what Postgres was last told
        self._report_at = now  # the first one at once: flush 0, so that the server knows we are here
        self._stream = stream
        self._intake = intake
        self._ceiling = ceiling
        self._timing = timing

    @property
    def due_at(self) -> float:
        raise_at = self._ceiling.due_at
        return self._report_at if raise_at is None else min(raise_at, self._report_at)

    def report_if_due(self, now: float) -> None:
        has_risen = self._ceiling.tend(now)
        # The first confirmation does not wait for the clock: a short session must get on too.
        first = self._intake.ledger.confirmable_lsn and not self.confirmed_lsn
        if first or has_risen or self._intake.reply_is_due or now >= self._report_at:
            self._intake.reply_is_due = False
            # A server with nothing to say answers only when asked: ask in time to tell silence from death.
            self.report(reply_requested=now - self.heard_at > self._timing.silence / 2)
            self._report_at = now + self._timing.status

    def report(self, *, reply_requested: bool) -> None:
        ledger = self._intake.ledger
        flush_lsn = ledger.report()
        self._stream.send_status(write_lsn=ledger.received_lsn, flush_lsn=flush_lsn, reply_requested=reply_requested)
        self.confirmed_lsn = flush_lsn

    def notice_silence(self, now: float) -> None:
        if now - self.heard_at > self._timing.silence:
            raise SourceError(f"Postgres has been silent for {self._timing.silence:g} s: the line is taken for dead")
