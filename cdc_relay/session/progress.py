"""Whether the session gets on: when something was last settled, whether that is long ago, and what others see of it."""

from __future__ import annotations

import time

import structlog

from cdc_relay.delivery.intake import Intake
from cdc_relay.dispatch.dispatch import Dispatch
from cdc_relay.session.ceiling import Ceiling
from cdc_relay.session.timing import Timing
from cdc_relay.sinks.sink import Sink
from cdc_relay.stats import State, Stats

__all__ = ["Progress"]

log = structlog.get_logger()

_SAMPLE_SECONDS = 1.0


class Progress:
    def __init__(
        self,
        intake: Intake,
        dispatch: Dispatch,
        sink: Sink,
        *,
        ceiling: Ceiling,
        stats: Stats,
        timing: Timing,
        now: float,
    ) -> None:
        self._intake = intake
        self._dispatch = dispatch
        self._sink = sink
        self._ceiling = ceiling
        self._stats = stats
        self._timing = timing
        self._settled_at = now
        self._sample_at = now
        self._sampled_transaction_count = stats.transaction_count

    def is_holding(self, now: float) -> bool:
        return now - self._settled_at > self._timing.hold

    def is_stuck(self, now: float) -> bool:
        """So long, and with a full window, that the line had better be closed."""
        return self._intake.window.is_full and now - self._settled_at >= self._timing.release

    def update(self) -> None:
        """After the dispatch was tended."""
        self._settled_at = max(self._settled_at, self._dispatch.settled_at)

    def count(self, now: float) -> None:
        stats, window = self._stats, self._intake.window
        stats.last_turn_at = now
        stats.open_record_count, stats.open_bytes = window.record_count, window.byte_count

    def observe(self, now: float) -> None:
        self.count(now)
        self._count_read()
        stats = self._stats
        stats.sink_error = self._sink.error
        if not self._intake.window.record_count:
            self._settled_at = now
        stats.last_settled_at = self._settled_at
        if now >= self._sample_at:
            self._sample_at = now + _SAMPLE_SECONDS
            self._sample(now)
        if self._dispatch.trouble:
            self._enter(State.HOLDING, f"the lot: {self._dispatch.trouble}")
        elif self._ceiling.trouble:
            self._enter(State.HOLDING, f"the guard: {self._ceiling.trouble}")
        elif self.is_holding(now):
            self._enter(State.HOLDING, self._sink.error or "the broker acknowledges nothing")
        else:
            self._enter(State.STREAMING)

    def _sample(self, now: float) -> None:
        """What only people look at, and what would cost something in every turn."""
        stats, intake = self._stats, self._intake
        stats.sample(now)
        stats.sink_statistics = self._sink.statistics
        stats.last_delivered_at = self._dispatch.traffic.delivered_at or stats.last_delivered_at
        if not intake.ledger.received_lsn:
            return  # nothing has come yet: what an earlier session knew is all there is
        stats.oldest_commit_us = self._find_oldest(now)
        has_read = stats.transaction_count != self._sampled_transaction_count
        stats.lag_us = intake.lag_us if has_read else 0
        self._sampled_transaction_count = stats.transaction_count

    def _find_oldest(self, now: float) -> int | None:
        """A message outside transactions has no commit time: since when it is the oldest is all that is known."""
        oldest = self._intake.ledger.oldest
        if oldest is None:
            return None
        return oldest.commit_time_us or round((time.time() - now + self._dispatch.outages.oldest_since) * 1e6)

    def _count_read(self) -> None:
        stats, intake = self._stats, self._intake
        stats.transaction_count += intake.transaction_count
        stats.ignored_count += intake.ignored_count
        stats.change_count += intake.change_count
        stats.dropped_count += intake.dropped_count
        intake.transaction_count = intake.ignored_count = intake.change_count = intake.dropped_count = 0

    def _enter(self, state: State, reason: str = "") -> None:
        if self._stats.enter(state, reason):
            log.info("state", state=str(state), reason=reason or None)
