"""The hour: a steady load, a fault a minute, and calm in between."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.chaos.walk.cluster import WalkCluster
from tests.chaos.walk.fault import Fault
from tests.chaos.walk.ground import Ground
from tests.fixtures.postgres_install import Install
from tests.fixtures.process import wait_until
from tests.soak.load import SoakWriter, create_counts
from tests.soak.meter import Meter
from tests.soak.reader import SoakReader

__all__ = ["Course", "Disturbance", "SoakGround"]

WRITER_COUNT = 4
FAULT_EVERY_SECONDS = 60.0
CATCH_UP_SECONDS = 300.0  # a topic that was below its min ISR first gets all that waited for it in the lot


@dataclass(frozen=True)
class Disturbance:
    name: str
    began_at: float  # by the wall clock
    ended_at: float  # all was repaired, and what had been held up had come


class SoakGround(Ground):
    """The walk's ground under another load: whatever recovers is seen by the numbers. Nobody fills its disk, and a
    lot with all events of a minute needs one."""

    def __init__(self, install: Install, cluster: WalkCluster) -> None:
        super().__init__(install, cluster, has_small_disk=False)

    def begin_load(self, rows_per_second: float) -> None:
        with self.database.connect() as conn:
            create_counts(conn, WRITER_COUNT)
        self.reader = SoakReader(self.cluster.bootstrap, self.pipeline.topic, self.partition_count)
        self.load = [self._make_writer(number, rows_per_second / WRITER_COUNT) for number in range(WRITER_COUNT)]

    def recover(self) -> None:
        """What was committed by now has come, and what comes next goes straight to its topic."""
        counts = [(writer.number, writer.count) for writer in self.load]
        wait_until(lambda: not self.missing_count(counts), timeout=CATCH_UP_SECONDS, what="all has come", every=0.1)
        wait_until(lambda: not self._closed_topics(), timeout=CATCH_UP_SECONDS, what="the topic is open", every=0.5)
        [(lsn,)] = self.database.execute("SELECT pg_current_wal_insert_lsn()::text")
        wait_until(lambda: self._is_confirmed(lsn), timeout=CATCH_UP_SECONDS, what="the slot has passed it", every=0.1)

    def _is_confirmed(self, lsn: str) -> bool:
        """Of what was committed by then nothing may come again."""
        query = "SELECT confirmed_flush_lsn >= %s::pg_lsn FROM pg_replication_slots WHERE slot_name = %s"
        return self.database.execute(query, [lsn, self.pipeline.slot]) == [(True,)]

    def _closed_topics(self) -> list[object]:
        topics: list[object] = json.loads(self.relay.get("/status")[1])["closed_topics"]
        return topics

    def missing_count(self, counts: Sequence[tuple[int, int]]) -> int:
        return sum(self.reader.numbers.missing_count(number, count) for number, count in counts)

    def forget_rows(self) -> None:
        """The table's size is not what is measured, and the publication does not tell of it."""
        self.database.execute(f"TRUNCATE {self.pipeline.table}")

    def _make_writer(self, number: int, rows_per_second: float) -> SoakWriter:
        kind = self.pipeline.aggregate_type
        return SoakWriter(self.database.dsn(), number, aggregate_type=kind, rows_per_second=rows_per_second)


@dataclass
class Course:
    ground: SoakGround
    faults: Sequence[Fault]
    seed: int
    say: Callable[[str], None] = print
    disturbances: list[Disturbance] = field(default_factory=list)

    @contextmanager
    def under_load(self, rows_per_second: float) -> Iterator[Meter]:
        self.ground.begin_load(rows_per_second)
        meter = Meter(self.ground.relay.pid)
        with self.ground.reader, meter:
            for writer in self.ground.load:
                writer.start()
            yield meter
            for writer in self.ground.load:
                writer.stop()
            self.ground.recover()

    def run(self, seconds: float) -> None:
        started, rng = time.monotonic(), random.Random(f"soak {self.seed}")
        number = 0
        while (due_at := started + (number + 1) * FAULT_EVERY_SECONDS) < started + seconds:
            time.sleep(max(0.0, due_at - time.monotonic()))
            self._strike(self.faults[rng.randrange(len(self.faults))], random.Random(f"{self.seed} {number}"))
            self.ground.forget_rows()
            self.say(f"{time.monotonic() - started:6.0f} s  {self.disturbances[-1].name}")
            number += 1
        time.sleep(max(0.0, started + seconds - time.monotonic()))

    def _strike(self, fault: Fault, rng: random.Random) -> None:
        began = time.time()
        fault.strike(self.ground, rng)
        self.ground.recover()
        self.disturbances.append(Disturbance(fault.name, began, time.time()))
