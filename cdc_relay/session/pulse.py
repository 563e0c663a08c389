"""Signs of life on the line, in both directions: status updates on a clock, and when the server was last heard.

What a status update confirms is the ledger's word alone.
"""

from __future__ import annotations

from cdc_relay.delivery.intake import Intake
from cdc_relay.errors import SourceError
from cdc_relay.session.stream import Stream
from cdc_relay.session.timing import Timing

__all__ = ["Pulse"]


class Pulse:
    def __init__(self, stream: Stream, intake: Intake, timing: Timing, *, now: float) -> None:
        self.heard_at = now
        self.due_at = now  # the first one at once: flush 0, so that the server knows we are here
        self._stream = stream
        self._intake = intake
        self._timing = timing
        self._confirmed = False  # the first confirmation does not wait for the clock: a short session must get on too

    def report_if_due(self, now: float) -> None:
        first = self._intake.ledger.safe_lsn and not self._confirmed
        if first or self._intake.reply_is_due or now >= self.due_at:
            self._intake.reply_is_due = False
            # A server with nothing to say answers only when asked: ask in time to tell silence from death.
            self.report(reply_requested=now - self.heard_at > self._timing.silence / 2)
            self.due_at = now + self._timing.status

    def report(self, *, reply_requested: bool) -> None:
        ledger = self._intake.ledger
        flush_lsn = ledger.report()
        self._stream.send_status(write_lsn=ledger.received_lsn, flush_lsn=flush_lsn, reply_requested=reply_requested)
        self._confirmed = flush_lsn > 0

    def notice_silence(self, now: float) -> None:
        if now - self.heard_at > self._timing.silence:
            raise SourceError(f"Postgres has been silent for {self._timing.silence:g} s: the line is taken for dead")
