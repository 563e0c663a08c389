"""What a walk goes over: a Postgres behind two lines, three brokers behind theirs, a relay that reads and publishes
through them, writers with good and bad rows, and the witnesses of the oracle."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.chaos.walk.cluster import WalkCluster
from tests.fixtures.consume import read_topic
from tests.fixtures.database import Database
from tests.fixtures.history import (
    APPEND_TIME,
    Collector,
    History,
    ParkedRow,
    SlotSampler,
    Writer,
    raise_if_lost,
    to_delivery,
    writers,
)
from tests.fixtures.outbox import insert_event
from tests.fixtures.pipeline import Pipeline
from tests.fixtures.postgres_install import Install
from tests.fixtures.postgres_server import PostgresServer
from tests.fixtures.process import wait_until
from tests.fixtures.proxy import TcpProxy
from tests.fixtures.relay_process import Config, RelayProcess
from tests.fixtures.scratch import remove_scratch, scratch_dir
from tests.fixtures.small_disk import SmallDisk, can_mount

__all__ = ["Ground", "open_ground", "prepared_cluster"]

MAX_MESSAGE_BYTES = 20_000
BATCH_BYTES = 15_000  # a batch that the topic refuses as a whole would bring its good records out of order
BAD_BYTES = 30_000  # of a payload that the topic refuses
RECOVERY_SECONDS = 180.0
SAMPLE_SECONDS = 0.03
PARKED = """
SELECT event_id, status, extract(epoch FROM parked_at)::float8 * 1000, extract(epoch FROM published_at)::float8 * 1000
  FROM cdc_relay.parked_records
"""
GAVE_UP, LIVE = {"dead", "discarded"}, {"retrying", "behind"}
HOPELESS = "bad-k"  # how keys begin whose events the topic refuses

TIMING = {
    "partial_outage_after": "3s",
    "release_line_after": "15s",
    "drain": "5s",
    "retry": {"base": "1s", "max": "1s", "jitter": 0, "max_retries": 1},  # a strict key waits for its bad rows
}


class Ground:
    partition_count = 3

    def __init__(
        self, install: Install, cluster: WalkCluster, *, ordering: str = "relaxed", has_small_disk: bool = True
    ) -> None:
        self.cluster = cluster
        self.directory = scratch_dir("walk")
        self.history = History()
        self.history.watch_incidents()
        self.server = PostgresServer(install)
        self.postgres_lines = [TcpProxy("127.0.0.1", self.server.port) for _ in range(2)]
        self.disk = SmallDisk() if has_small_disk and can_mount() else None
        self.crew: Sequence[Writer] = ()
        self._install = install
        self.ordering = ordering
        self._relays: list[RelayProcess] = []
        self._orders: Counter[str] = Counter()
        self.felt: Counter[str] = Counter()  # how often a fault was seen to do its harm, where that is not sure

    def begin(self) -> None:
        self.server.start()
        self.database = Database(self.server)
        topic = {**APPEND_TIME, "max.message.bytes": str(MAX_MESSAGE_BYTES)}
        self.pipeline = Pipeline(
            self.database, self.cluster, self._make_relay, partitions=self.partition_count, topic_config=topic
        )
        if self.disk is not None:
            self.disk.take_lot(self.database, user=self._install.user)
        self.relay = self._make_relay(self._relay_config()).wait_ready(timeout=60)

    def start_relay_once(self, *arguments: str) -> None:
        """With arguments that an operator gives it, then without: whoever restarts it later does not know them."""
        told = self._make_relay(self._relay_config(), *arguments).wait_ready(timeout=60)
        told.terminate()
        told.wait(90)
        self.relay = self._make_relay(self._relay_config())

    def dlq(self, *arguments: str) -> None:
        """As an operator at the server, not through the lines."""
        file = self.directory / "operator.yaml"
        config = self.pipeline.config(dsn=self.database.dsn())
        file.write_text(yaml.safe_dump(config, sort_keys=False))
        command = [sys.executable, "-m", "cdc_relay", "dlq", arguments[0], "-c", str(file), *arguments[1:]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise AssertionError(f"dlq {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")

    def make_topic(self, aggregate_type: str) -> str:
        topic = f"outbox.event.{aggregate_type}"
        self.cluster.create_topic(topic, 1, APPEND_TIME)
        return topic

    def write(self, aggregate_type: str, count: int) -> list[str]:
        """Events of their own key, one transaction each; their ids."""
        with self.database.connect() as conn:
            ids = [insert_event(conn, aggregate_type, aggregate_type, payload=None) for _ in range(count)]
            [(upper_lsn,)] = conn.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").fetchall()
        for id_ in ids:
            self._orders[aggregate_type] += 1
            self.history.committed(id_, aggregate_type, self._orders[aggregate_type], upper_lsn=upper_lsn)
        return ids

    def recover(self) -> None:
        """All that was committed by now arrives, and what could not be published has been given up."""
        if not self.relay.is_running:
            raise AssertionError(f"the relay ended with {self.relay.returncode}:\n{self.relay.stderr[-4000:]}")
        self.wait_until_arrived([event.id for event in self.history.undelivered])

    def wait_until_confirmed(self) -> None:
        """Of what is committed by now nothing may come again."""
        self.history.wait_until_confirmed(RECOVERY_SECONDS)

    def change_keys(self, suffix: str) -> None:
        for writer in self.crew:
            writer.change_keys(suffix)

    def wait_until_arrived(self, ids: Sequence[str]) -> None:
        def have_arrived() -> bool:
            missing = self.history.missing_of(ids)
            return not missing or missing <= self._given_up()

        try:
            wait_until(have_arrived, timeout=RECOVERY_SECONDS, every=0.2, what=f"{len(ids)} events arrive")
        except TimeoutError as exc:
            raise_if_lost(self.history, self._find_ids)
            raise AssertionError(f"{exc}\n{self._describe(ids)}") from exc

    def settle(self) -> None:
        """Once the writers have stopped."""
        with self.database.connect() as conn:
            self.history.resolve(conn, self.pipeline.table)
        self.recover()
        what = "the lot has given up or published what it had"
        wait_until(lambda: not self._count_live(), timeout=RECOVERY_SECONDS, every=0.2, what=what)
        self.history.found_parked(self._parked(), is_hopeless=lambda event: event.key.startswith(HOPELESS))

    def close(self) -> None:
        for relay in self._relays:
            if relay.is_running:
                relay.kill()
        for line in self.postgres_lines:
            line.close()
        self.server.destroy()
        if self.disk is not None:
            self.disk.destroy()
        remove_scratch(self.directory)

    def copy_logs(self, directory: Path) -> None:
        """What every relay said, for whoever has to find out."""
        directory.mkdir(parents=True, exist_ok=True)
        for number, relay in enumerate(self._relays):
            (directory / f"relay{number}.log").write_text(relay.stderr)

    def _make_relay(self, config: Config, *arguments: str) -> RelayProcess:
        relay = RelayProcess(config, self.directory / f"relay{len(self._relays)}", *arguments)
        self._relays.append(relay)
        return relay.start()

    def _relay_config(self) -> Config:
        ports = ",".join(str(line.port) for line in self.postgres_lines)
        return self.pipeline.config(
            dsn=self.pipeline.dsn(host="127.0.0.1,127.0.0.1", port=ports),
            bootstrap=self.cluster.relay_bootstrap,
            source={"wal_sender_timeout": "6s"},
            sink={"kafka": {"batch.size": BATCH_BYTES}},
            delivery={**TIMING, "ordering": self.ordering},
        )

    def _find_ids(self) -> list[str]:
        """Also on the topics of one strike: all that was on one that is deleted by now has been seen."""
        names = [topic for topic in self.cluster.topics() if topic.startswith("outbox.event.")]
        messages = (message for name in names for message in read_topic(self.cluster.bootstrap, name))
        return [*(row.event_id for row in self._parked()), *(to_delivery(message).id for message in messages)]

    def _parked(self) -> list[ParkedRow]:
        return [ParkedRow(*row) for row in self.database.execute(PARKED)]

    def _count_live(self) -> int:
        return sum(row.status in LIVE for row in self._parked())

    def _given_up(self) -> set[str]:
        return {row.event_id for row in self._parked() if row.status in GAVE_UP}

    def _describe(self, ids: Sequence[str]) -> str:
        missing = self.history.missing_of(ids)
        lot: dict[str, Any] = {row.event_id: row.status for row in self._parked() if row.event_id in missing}
        waiting = {id_: status for id_, status in lot.items() if status not in GAVE_UP}
        in_sync = self.cluster.in_sync_of(self.pipeline.topic)
        return (
            f"{len(missing - lot.keys())} are missing, {len(waiting)} wait in the lot: {waiting}\n"
            f"in sync, by partition: {in_sync}\nthe relay's status: {self._ask_status()}\n"
            f"its last words:\n{self.relay.stderr[-4000:]}"
        )

    def _ask_status(self) -> str:
        try:
            return self.relay.get("/status")[1]
        except OSError as exc:
            return f"{type(exc).__name__}: {exc}"


@contextmanager
def prepared_cluster(jars: Path) -> Iterator[WalkCluster]:
    cluster = WalkCluster(jars)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.destroy()


@contextmanager
def open_ground(install: Install, jars: Path, *, ordering: str, seed: int) -> Iterator[Ground]:
    """Under load; at the end of the block the writers stop, and all has to arrive."""
    with prepared_cluster(jars) as cluster, closing(Ground(install, cluster, ordering=ordering)) as ground:
        ground.begin()
        with _witnesses(ground), _load(ground, seed):
            yield ground
            for writer in ground.crew:
                writer.stop()
            ground.settle()


@contextmanager
def _witnesses(ground: Ground) -> Iterator[None]:
    topics = [ground.pipeline.topic, r"^outbox\.event\.passing-.*"]
    dsn, slot = ground.database.dsn(), ground.pipeline.slot
    with (
        Collector(ground.cluster.bootstrap, ground.history, topics),
        SlotSampler(dsn, ground.history, slot, every_seconds=SAMPLE_SECONDS),
    ):
        yield


@contextmanager
def _load(ground: Ground, seed: int) -> Iterator[None]:
    """Bad rows only with strict order: on relaxed routes the good ones of a refused batch may come later than they
    should, so there order is judged without them."""
    dsn, history, kind = ground.database.dsn(), ground.history, ground.pipeline.aggregate_type
    with writers(dsn, history, aggregate_type=kind, pause_seconds=0.05, seed=seed) as crew:
        ground.crew = [*crew, _bad_writer(ground, seed).start()] if ground.ordering == "strict" else crew
        yield


def _bad_writer(ground: Ground, seed: int) -> Writer:
    return Writer(
        ground.database.dsn(),
        ground.history,
        aggregate_type=ground.pipeline.aggregate_type,
        keys=[f"{HOPELESS}{number}" for number in range(5)],
        max_rows=1,
        pause_seconds=2.0,
        payload_bytes=BAD_BYTES,
        seed=seed,
    )
