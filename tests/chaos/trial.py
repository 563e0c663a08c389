"""A pipeline under load while the test does its worst to it; afterwards the oracle speaks.

The writers are the clock: "so many commits later" is a moment under load, whatever the relay does meanwhile.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tests.fixtures.fix_relay import MakePipeline, Pipeline
from tests.fixtures.history import (
    APPEND_TIME,
    Collector,
    Delivery,
    History,
    Report,
    SlotSampler,
    Writer,
    raise_if_lost,
    to_delivery,
    writers,
)
from tests.fixtures.kafka_broker import Kafka
from tests.fixtures.postgres_server import PostgresServer
from tests.fixtures.process import wait_until

__all__ = ["Trial", "make_judged_pipeline", "trial"]

PARTITION_COUNT = 3
PARKED = "SELECT event_id FROM cdc_relay.parked_records"


def make_judged_pipeline(
    make_pipeline: MakePipeline,
    *,
    server: PostgresServer | None = None,
    kafka: Kafka | None = None,
    failover: bool = False,
) -> Pipeline:
    """Its topic keeps the broker's own time, by which the oracle judges the slot."""
    return make_pipeline(
        server=server, kafka=kafka, topic_config=APPEND_TIME, partitions=PARTITION_COUNT, failover=failover
    )


class OpenHistory(History):
    """A notebook that can be read as well."""

    @property
    def deliveries(self) -> list[Delivery]:
        """In the order in which the consumer saw them."""
        with self._lock:
            return list(self._deliveries.values())

    @property
    def upper_lsns(self) -> dict[str, int]:
        """Event id -> the position at or before which its commit ended, where one is known."""
        with self._lock:
            return {event.id: event.upper_lsn for event in self._events.values() if event.upper_lsn is not None}

    @property
    def highest_sampled_lsn(self) -> int:
        with self._lock:
            return max(self._samples, default=0)


class Trial:
    def __init__(self, pipeline: Pipeline, history: OpenHistory, crew: Sequence[Writer]) -> None:
        self.history = history
        self.fails_over = False  # set by a test that does so: commits that the new primary lacks never were
        self._pipeline = pipeline
        self._crew = crew

    def let_commit(self, transaction_count: int, *, timeout: float = 60) -> None:
        """Go on when the writers have committed so many transactions more."""
        goal = self._committed_count + transaction_count
        what = f"the writers commit {transaction_count} transactions more"
        wait_until(lambda: self._committed_count >= goal, timeout=timeout, every=0.002, what=what)

    def let_deliver(self, record_count: int = 300, *, timeout: float = 90) -> None:
        """Go on when so many records more have been seen on the topic."""
        goal = self.history.delivery_count + record_count
        what = f"{record_count} records more are delivered"
        wait_until(lambda: self.history.delivery_count >= goal, timeout=timeout, every=0.01, what=what)

    @contextmanager
    def incident(self, name: str, **excuses: bool) -> Iterator[None]:
        """Noted, so that from now on every duplicate needs a reason; over when the slot has passed all that was
        committed by the end of the block. The mock cluster keeps no time by which a duplicate could be judged."""
        if not self._pipeline.kafka.is_real:
            yield
            return
        with self.history.incident(name, **excuses):
            yield
            self.history.wait_until_confirmed(120)

    @property
    def repetition_count(self) -> int:
        return self.history.delivery_count - len(self.history.delivered_ids)

    def settle(self) -> None:
        """Once the writers have stopped: everything that they committed arrives, and the slot follows."""
        with self._pipeline.database.connect() as conn:
            self.history.resolve(conn, self._pipeline.table, after_failover=self.fails_over)
        try:
            self.history.wait_until_delivered()
        except TimeoutError:
            if not self.fails_over:  # the position that was seen last may be the old primary's
                raise_if_lost(self.history, self._find_ids)
            raise
        if self._pipeline.kafka.is_real:
            self._wait_until_confirmed()

    def report(self) -> Report:
        report = self.history.report()
        print(report)
        return report

    def _find_ids(self) -> list[str]:
        parked = [event_id for (event_id,) in self._pipeline.database.execute(PARKED)]
        return [*parked, *(to_delivery(message).id for message in self._pipeline.records())]

    def _wait_until_confirmed(self) -> None:
        """Up to the last commits: their bounds may lie beyond the last one's true end, where the slot comes later."""
        lsns = sorted(set(self.history.upper_lsns.values()))
        goal = lsns[-2 * len(self._crew)]
        what = "the slot is confirmed nearly up to the last commit"
        wait_until(lambda: self.history.highest_sampled_lsn >= goal, timeout=60, what=what)

    @property
    def _committed_count(self) -> int:
        return sum(writer.committed_count for writer in self._crew)


@contextmanager
def trial(pipeline: Pipeline, rng: random.Random, *, pause_seconds: float = 0.02) -> Iterator[Trial]:
    """Writers and witnesses at work; at the end of the block the writers stop, and all has to arrive."""
    history, dsn = OpenHistory(), pipeline.database.dsn()
    with ExitStack() as witnesses:
        witnesses.enter_context(Collector(pipeline.kafka.bootstrap, history, [pipeline.topic]))
        if pipeline.kafka.is_real:  # the mock cluster keeps no time by which to judge the slot
            witnesses.enter_context(SlotSampler(dsn, history, pipeline.slot))
        with writers(
            dsn,
            history,
            aggregate_type=pipeline.aggregate_type,
            max_rows=20,
            pause_seconds=pause_seconds,
            seed=rng.getrandbits(32),
        ) as crew:
            load = Trial(pipeline, history, crew)
            yield load
        load.settle()
