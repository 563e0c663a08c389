"""How long a record takes in each stage: a sample of the stream's rows is timed, so that the rest pays nothing."""

from __future__ import annotations

import time
from collections.abc import Callable

from cdc_relay.counters import Counters, Stage
from cdc_relay.delivery.intake import Intake
from cdc_relay.delivery.outcome import Outcome
from cdc_relay.model import Record, Ticket
from cdc_relay.protocol import wire
from cdc_relay.protocol.pgoutput import Decoder

__all__ = ["Stages"]

_PAUSE_SECONDS = 0.1  # between two samples: a timed row is decoded twice, in Python
_INSERT = ord("I")


class Stages:
    """Takes and offers in the stream's and the publisher's place, and times the first row that comes."""

    def __init__(
        self,
        intake: Intake,
        offer: Callable[[Record, Ticket], None],
        counters: Counters,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._intake = intake
        self._offer = offer
        self._times = counters.stages
        self._clock = clock
        self._decode = Decoder().decode  # of its own: the stream's must not see a frame twice
        self._now = 0.0
        self._sampled_at = -_PAUSE_SECONDS
        self._is_sampling = False
        self._settled_since: float | None = None  # what is settled and not confirmed
        self._confirmed_lsn = 0

    def is_due(self, now: float) -> bool:
        self._is_sampling = now >= self._sampled_at + _PAUSE_SECONDS
        self._now = now
        return self._is_sampling

    def take(self, frame: bytes | memoryview) -> Outcome | None:
        if not self._is_sampling or not _is_row(frame):
            return self._intake.take(frame)
        self._sampled_at = self._now
        return self._take_in_two(frame) if self._intake.is_pure else self._take_whole(frame)

    def _take_in_two(self, frame: bytes | memoryview) -> Outcome | None:
        began = self._clock()
        self._decode(frame, wire.PAYLOAD_OFFSET)
        decoded = self._clock()
        outcome = self._intake.take(frame)  # decodes once more: what is left is routing
        decode_seconds = decoded - began
        self._times[Stage.DECODE].add(decode_seconds)
        self._times[Stage.ROUTE].add(self._clock() - decoded - decode_seconds)
        return outcome

    def _take_whole(self, frame: bytes | memoryview) -> Outcome | None:
        """Compiled, a row is cut and routed in one."""
        began = self._clock()
        outcome = self._intake.take(frame)
        self._times[Stage.DECODE].add(self._clock() - began)
        return outcome

    def offer(self, record: Record, ticket: Ticket) -> None:
        if not self._is_sampling:
            self._offer(record, ticket)
            return
        self._is_sampling = False
        began = self._clock()
        self._offer(record, ticket)
        self._times[Stage.PRODUCE].add(self._clock() - began)

    def note_confirmation(self, now: float, confirmed_lsn: int) -> None:
        """Once a turn: since when records are settled, and when they are confirmed."""
        if self._settled_since is None:
            if self._intake.ledger.settled_lsn > self._confirmed_lsn:
                self._settled_since = now
        elif confirmed_lsn > self._confirmed_lsn:
            self._times[Stage.CONFIRM].add(now - self._settled_since)
            self._settled_since, self._confirmed_lsn = None, confirmed_lsn


def _is_row(frame: bytes | memoryview) -> bool:
    return len(frame) > wire.PAYLOAD_OFFSET and frame[0] == wire.XLOG_DATA and frame[wire.PAYLOAD_OFFSET] == _INSERT
