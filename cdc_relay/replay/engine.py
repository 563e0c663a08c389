"""The loop of a run: pages in, records out, the position kept, until there is nothing more or it is told to stop.

Runs on one thread; tables, lot and journal are asked on helper threads. It touches no slot, and no ledger.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future

import structlog

from cdc_relay.bell import Bell
from cdc_relay.dispatch.dispatch import Dispatch
from cdc_relay.errors import AwayError
from cdc_relay.replay.batches import Batch, Batches
from cdc_relay.replay.journal import Counts
from cdc_relay.replay.pace import Pace
from cdc_relay.replay.page import Page
from cdc_relay.replay.pages import Pages
from cdc_relay.replay.position import Position
from cdc_relay.sinks.sink import Reports, Sink
from cdc_relay.stats import Stats
from cdc_relay.stop import Stop

__all__ = ["Engine", "Store"]

log = structlog.get_logger()

Store = Callable[[Position, Counts], "Future[None]"]

_GULP_ROWS = 500
_BATCH_ROWS = 200  # after a kill at most these and the window's are published again
_STORE_SECONDS = 1.0
_WAIT_SECONDS = 0.02
_SILENT_SECONDS = 3.0  # records are out, and nobody acknowledged any


class Engine:
    def __init__(
        self,
        pages: Pages,
        batches: Batches,
        dispatch: Dispatch,
        *,
        sink: Sink,
        store: Store,
        pace: Pace,
        stats: Stats,
        stop: Stop,
        bell: Bell,
        drain_seconds: float,
        show: Callable[[Engine], None],
    ) -> None:
        self.pages = pages
        self.batches = batches
        self.missing_ids: list[str] = []
        self._dispatch = dispatch
        self._sink = sink
        self._store = store
        self._pace = pace
        self._stats = stats
        self._stop = stop
        self._bell = bell
        self._drain_seconds = drain_seconds
        self._show = show
        self._page: Page | None = None
        self._next_row = 0
        self._batch: Batch | None = None
        self._storing: Future[None] | None = None
        self._store_at = 0.0
        self._stored = batches.position
        self._stop_by: float | None = None
        dispatch.exit.is_shut = True  # only the process that reads the slot publishes from the lot
        dispatch.outages.on_well = dispatch.outages.open

    @property
    def counts(self) -> Counts:
        """Of this process, up to now."""
        stats = self._stats
        return Counts(self.batches.settled_count, stats.published_count, stats.parked_count, self.batches.dropped_count)

    @property
    def trouble(self) -> str:
        """Why it does not get on."""
        moved_at = max(self._dispatch.traffic.moved_at.values(), default=None)
        if moved_at is not None and time.monotonic() - moved_at > _SILENT_SECONDS:
            return f"waiting for Kafka: {self._sink.error or 'nothing is acknowledged'}"
        return self.pages.trouble or self._dispatch.trouble

    def run(self) -> bool:
        """Whether it is finished: all that was asked for is settled. False: told to stop before."""
        while not self._is_finished():
            now = time.monotonic()
            if self._stop.requested:
                self._end_batch()  # what was handed out of it ends here
                if self._is_drained(now):
                    return self._is_finished()
            self._turn(now)
        return True

    def _turn(self, now: float) -> None:
        self._dispatch.traffic.now = now
        is_busy = self._fill(now)
        self._dispatch.returns.settle(self._await_reports(is_busy))
        self._dispatch.tend(time.monotonic(), may_claim=False)
        self._tend_store(now)
        self._show(self)

    # -- rows

    def _fill(self, now: float) -> bool:
        """Hand out what the window has room for. True while there is more to hand out at once."""
        if self._stop.requested or self._dispatch.outages.is_emptying:
            return False
        for _ in range(_GULP_ROWS):
            if self._page is None and not self._turn_page(now):
                return False
            assert self._page is not None
            if self._next_row == len(self._page.rows):
                self._end_page(self._page)
                continue
            if self.batches.window.is_full or not self._pace.allow(time.monotonic()):
                return False
            self._hand_out(self._page)
        return True

    def _turn_page(self, now: float) -> bool:
        self._page, self._next_row = self.pages.take(now), 0
        if self._page is None:
            return False
        self.missing_ids += self._page.missing_ids
        return True

    def _hand_out(self, page: Page) -> None:
        row = page.rows[self._next_row]
        if self._batch is None:
            self._batch = self.batches.begin(row.behind)
        self._next_row += 1
        self._batch.end = row.behind
        outcome = self.batches.take(page, row, self._batch)
        if outcome is not None:
            self._dispatch.hand_over(outcome)
        if self._batch.row_count >= _BATCH_ROWS:
            self._end_batch()

    def _end_page(self, page: Page) -> None:
        self._batch = self._batch or self.batches.begin(page.end)
        self._batch.end = page.end
        self._page = None
        self._end_batch()

    def _end_batch(self) -> None:
        if self._batch is not None:
            batch, self._batch = self._batch, None
            self.batches.finish(batch)

    # -- waiting

    def _await_reports(self, is_busy: bool) -> Reports:
        if not self._dispatch.is_waiting_for_broker:
            if not is_busy:
                self._bell.wait(_WAIT_SECONDS)
            self._bell.hush()
            return self._sink.poll(0)
        return self._sink.poll(0) if is_busy else self._sink.flush(_WAIT_SECONDS)

    # -- the position

    def _tend_store(self, now: float) -> None:
        if self._storing is not None:
            if not self._storing.done():
                return
            future, self._storing = self._storing, None
            try:
                future.result()
            except AwayError as exc:
                log.warning("position_not_stored", reason=exc.message)
        if now >= self._store_at and self.batches.position != self._stored:
            self._store_at, self._stored = now + _STORE_SECONDS, self.batches.position
            self._storing = self._store(self.batches.position, self.counts)

    # -- the end

    def _is_finished(self) -> bool:
        is_read = self._page is None and self.pages.is_over
        return is_read and self.batches.is_empty and self._dispatch.is_idle and self._storing is None

    def _is_drained(self, now: float) -> bool:
        if self._stop_by is None:
            self._stop_by = now + self._drain_seconds
        return now >= self._stop_by or not self.batches.window.record_count
