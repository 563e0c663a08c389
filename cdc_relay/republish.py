"""From a configuration to a run that publishes rows of a table: names concrete classes, as wiring does for `run`."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import structlog

from cdc_relay.bell import Bell
from cdc_relay.config import RelayConfig
from cdc_relay.delivery.window import Window
from cdc_relay.dispatch.dispatch import Dispatch
from cdc_relay.errors import AwayError, DrainError, LedgerError, SinkError
from cdc_relay.helper import Helper
from cdc_relay.model import Dropped, Headers, Record, Unroutable
from cdc_relay.parking.entry import Claim, Inventory, Survey
from cdc_relay.patience import Patience
from cdc_relay.replay.batches import Batches
from cdc_relay.replay.engine import Engine
from cdc_relay.replay.journal import Counts, Journal, Kept
from cdc_relay.replay.pace import Pace
from cdc_relay.replay.pages import Pages
from cdc_relay.replay.position import Position
from cdc_relay.replay.reader import PageReader
from cdc_relay.replay.side_lot import SideLot
from cdc_relay.routing.router import Router
from cdc_relay.stats import Stats
from cdc_relay.stop import Stop
from cdc_relay.target import wanted_of
from cdc_relay.wiring import dispatch_options, make_lot, make_sink

__all__ = ["Progress", "Republication", "Result"]

log = structlog.get_logger()
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run is, for people to see."""

    counts: Counts
    done_blocks: int
    total_blocks: int
    trouble: str


@dataclass(slots=True)
class Result:
    run: str
    is_finished: bool
    counts: Counts
    missing_ids: list[str] = field(default_factory=list)


class Republication:
    """One run, from its position to its end."""

    def __init__(
        self,
        config: RelayConfig,
        kept: Kept,
        reader: PageReader,
        journal: Journal,
        *,
        headers: Headers,
        total_blocks: int,
        rate: int | None,
        stop: Stop,
        show: Callable[[Progress], None],
    ) -> None:
        self._config = config
        self._kept = kept
        self._reader = reader
        self._journal = journal
        self._headers = headers
        self._total_blocks = total_blocks
        self._pace = Pace(rate)
        self._stop = stop
        self._show = show
        self._stats = Stats()
        self._router = Router(wanted_of(config).outboxes)
        self._bell = Bell()
        self._sink = make_sink(config.sink, fixed_topics=self._router.fixed_topics)
        self._lot = SideLot(make_lot(config))
        self._helper = Helper(bell=self._bell)
        self._table_helper = Helper(bell=self._bell)
        self._missing_ids: list[str] = []
        self._counts = kept.counts
        self.has_begun = False  # the servers answer, and something may be published

    def run(self) -> Result:
        """DrainError when it was told to stop, and not everything that was out came back in time."""
        try:
            is_finished = self._wait_for_servers() and self._work()
        finally:
            self.close()
        return Result(self._kept.id, is_finished, self._counts, self._missing_ids)

    def close(self) -> None:
        self._helper.submit(self._lot.close)
        self._table_helper.submit(self._reader.close)
        self._helper.close()
        self._table_helper.close()
        self._sink.close()

    def _wait_for_servers(self) -> bool:
        patience, said = Patience(self._stats, self._stop), ""
        while not self._stop.requested:
            try:
                self._await(self._lot.open)
                self._await(self._sink.probe)
                return not self._stop.requested
            except AwayError as exc:
                if exc.message != said:
                    said = exc.message
                    log.warning("waiting", reason=exc.message, cause=self._sink.error or None, remedy=exc.remedy)
                patience.pause()
        return False

    def _await(self, job: Callable[[], T]) -> T | None:
        future = self._helper.submit(job)
        while not self._stop.requested:
            self._sink.poll(0)
            try:
                return future.result(timeout=0.05)
            except FutureTimeout:
                if future.done():
                    raise
        return None

    def _work(self) -> bool:
        """A producer that broke is replaced; what it had is read again."""
        position = self._kept.position
        self.has_begun = True
        while True:
            engine = self._make_engine(position)
            try:
                is_finished = engine.run()
            except SinkError as exc:
                log.warning("producer_broke", reason=exc.message, consequence="the last records are published again")
                self._sink.reset()
                self._take_counts(engine)
                position = engine.batches.position
                continue
            self._take_counts(engine)
            self._conclude(engine, is_finished=is_finished)
            return is_finished

    def _take_counts(self, engine: Engine) -> None:
        self._counts = self._counts.plus(engine.counts)
        self._missing_ids += engine.missing_ids
        self._stats.published_count = self._stats.parked_count = 0

    def _conclude(self, engine: Engine, *, is_finished: bool) -> None:
        if is_finished:
            self._persist(partial(self._journal.finish, self._kept, self._counts))
            return
        left = engine.batches.window.record_count
        self._persist(partial(self._journal.store, self._kept, engine.batches.position, self._counts))
        if left:
            raise DrainError(
                f"stopped with {left} records unsettled: they will be published again when the run is resumed",
                remedy="nothing is lost",
            )

    def _persist(self, job: Callable[[], None]) -> None:
        """The end of a run must be written down, or it would begin again where it was."""
        patience = Patience(self._stats, Stop())
        for _ in range(20):
            try:
                self._helper.submit(job).result()
                return
            except AwayError as exc:
                log.warning("position_not_stored", reason=exc.message)
                patience.pause()
        raise AwayError("the position of the run could not be stored", remedy="resume it: nothing is lost")

    def _make_engine(self, position: Position) -> Engine:
        limits = self._config.delivery.window
        window = Window(record_limit=limits.records, byte_limit=limits.bytes)
        batches = Batches(self._router, window, run=self._kept.id, headers=self._headers, position=position)
        return Engine(
            Pages(self._reader, submit=self._table_helper.submit, position=position),
            batches,
            self._make_dispatch(batches),
            sink=self._sink,
            store=self._store,
            pace=self._pace,
            stats=self._stats,
            stop=self._stop,
            bell=self._bell,
            drain_seconds=self._config.delivery.drain_seconds,
            show=self._observe,
        )

    def _make_dispatch(self, batches: Batches) -> Dispatch:
        return Dispatch(
            batches,
            self._sink,
            self._lot,
            submit=self._helper.submit,
            inventory=Inventory(frozenset(), Survey()),
            route_again=_never,
            stats=self._stats,
            options=dispatch_options(self._config),
            now=time.monotonic(),
        )

    def _store(self, position: Position, counts: Counts) -> Future[None]:
        return self._helper.submit(partial(self._journal.store, self._kept, position, self._counts.plus(counts)))

    def _observe(self, engine: Engine) -> None:
        counts = self._counts.plus(engine.counts)
        done = self._reader.count_done(engine.batches.position)
        self._show(Progress(counts, min(done, self._total_blocks), self._total_blocks, engine.trouble))


def _never(claim: Claim) -> Record | Unroutable | Dropped:
    raise LedgerError("a run takes nothing out of the lot")
