"""How far the slot is confirmed (promises 2 to 5): never past what is unacknowledged, always up to what is settled.

What needs a frozen broker is observed once, on two pipelines at the same time, and judged by several tests."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_postgres import Database, PostgresServer
from tests.fixtures.fix_relay import Pipeline, RelayProcess
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.outbox import insert_events
from tests.fixtures.process import wait_until
from tests.integration.confirmation_rig import relay_maker, wait_until_confirmed, wal_lsn

pytestmark = [pytest.mark.core, pytest.mark.kafka]

ROW_COUNT, ROW_BYTES = 1000, 10_000  # more than fits between a walsender and a reader that does not read
WAL_SENDER_TIMEOUT = timedelta(seconds=2)
IMPATIENT = {"wal_sender_timeout": f"{WAL_SENDER_TIMEOUT.seconds}s"}
WRITE_ELSEWHERE = "INSERT INTO elsewhere SELECT repeat('x', 1000) FROM generate_series(1, 100)"
READER = """
SELECT clock_timestamp(), s.confirmed_flush_lsn - '0/0', s.active_pid, r.reply_time
  FROM pg_replication_slots s LEFT JOIN pg_stat_replication r ON r.pid = s.active_pid
 WHERE s.slot_name = %s
"""


# --- a broker that does not answer


@dataclass
class Observed:
    """One pipeline while its broker was frozen."""

    pipeline: Pipeline
    relay: RelayProcess
    lsn_before: int = 0  # where the transaction begins that was not acknowledged
    lsn_after: int = 0
    row_count: int = 0
    times: list[datetime] = field(default_factory=list)  # when it was looked at, by the server's clock
    confirmed: set[int] = field(default_factory=set)
    reader_pids: set[int | None] = field(default_factory=set)
    silences: list[timedelta] = field(default_factory=list)  # since the last status update

    def sample(self) -> None:
        [(now, confirmed, pid, reply_time)] = self.pipeline.database.execute(READER, [self.pipeline.slot])
        self.times.append(now)
        self.confirmed.add(int(confirmed))
        self.reader_pids.add(pid)
        self.silences.append(now - (reply_time or self.times[0]))

    def lag_seen_bytes(self) -> int:
        """What the relay's last look at the catalog found."""
        try:
            return int(json.loads(self.relay.get("/readyz")[1])["slot_lag_bytes"] or 0)
        except (OSError, http.client.HTTPException):
            return 0


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    jars = find_jars()
    assert isinstance(jars, Path)  # the mark real_kafka has seen to it
    kafka = KafkaBroker(jars)
    try:
        kafka.start()
        yield kafka
    finally:
        kafka.destroy()


@pytest.fixture(scope="module")
def frozen(
    postgres: PostgresServer, broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Observed]]:
    """`read`: one small transaction, read and unacknowledged. `half-read`: a large one that filled the window."""
    window = {"window": {"records": 10}}
    seen: dict[str, Observed] = {}
    try:
        seen["read"] = start_one(Database(postgres), broker, tmp_path_factory.mktemp("read"))
        seen["half-read"] = start_one(
            Database(postgres), broker, tmp_path_factory.mktemp("half"), source=IMPATIENT, delivery=window
        )
        for each in seen.values():
            settle_one(each)
        broker.freeze()
        try:
            write_one(seen["read"], 1)
            write_one(seen["half-read"], ROW_COUNT)
            observe(seen)
        finally:
            broker.thaw()
        yield seen
    finally:
        for each in seen.values():
            each.relay.kill()
            each.pipeline.database.drop()


def start_one(database: Database, kafka: KafkaBroker, directory: Path, **config: Any) -> Observed:
    pipeline = Pipeline(database, kafka, relay_maker(directory))
    database.execute("CREATE TABLE elsewhere (filler text)")
    return Observed(pipeline, pipeline.start_relay(ready=False, **config))


def settle_one(one: Observed) -> None:
    """One record delivered and confirmed: the producer knows its broker and topic."""
    one.relay.wait_ready(timeout=60)
    one.pipeline.insert()
    wait_until_confirmed(one.pipeline, wal_lsn(one.pipeline))


def write_one(one: Observed, row_count: int) -> None:
    one.lsn_before = wal_lsn(one.pipeline)
    with one.pipeline.database.connect() as conn:
        insert_events(conn, row_count, one.pipeline.aggregate_type, payload_bytes=ROW_BYTES)
    one.row_count = row_count
    one.lsn_after = wal_lsn(one.pipeline)


def observe(seen: dict[str, Observed]) -> None:
    """For three walsender time-outs and a look at the catalog after later writes; then as long as a report takes."""
    read = seen["read"]
    looked_at: list[datetime] = []

    def is_enough() -> bool:
        for one in seen.values():
            one.sample()
            one.pipeline.database.execute(WRITE_ELSEWHERE)
        now = read.times[-1]
        if now - read.times[0] > 3 * WAL_SENDER_TIMEOUT and read.lag_seen_bytes() > 500_000:
            looked_at.append(now)
        return bool(looked_at) and now - looked_at[0] > timedelta(seconds=2)

    wait_until(is_enough, timeout=90, every=0.1, what="the relay has looked at the catalog")


@pytest.fixture(params=["read", "half-read"])
def one(request: pytest.FixtureRequest, frozen: dict[str, Observed]) -> Observed:
    return frozen[request.param]


@pytest.mark.real_kafka
def test_the_slot_stays_before_a_transaction_that_is_not_acknowledged(one: Observed) -> None:
    assert max(one.confirmed) <= one.lsn_before


@pytest.mark.real_kafka
def test_status_updates_flow_while_the_broker_is_away(one: Observed) -> None:
    assert max(one.silences) < timedelta(seconds=5)  # half of the usual wal_sender_timeout; one a second is the rule


@pytest.mark.real_kafka
def test_the_walsender_is_not_timed_out_while_the_broker_is_away(one: Observed) -> None:
    assert len(one.reader_pids) == 1


@pytest.mark.real_kafka
def test_the_slot_follows_when_the_broker_answers_again(one: Observed) -> None:
    wait_until_confirmed(one.pipeline, one.lsn_after)


@pytest.mark.real_kafka
def test_what_was_held_arrives_once_when_the_broker_answers_again(one: Observed) -> None:
    wait_until_confirmed(one.pipeline, one.lsn_after)
    ids = [str(record.headers()) for record in one.pipeline.records()]
    assert (len(ids), len(set(ids))) == (1 + one.row_count, 1 + one.row_count)


# --- an idle outbox


def test_an_idle_outbox_in_a_database_that_writes_elsewhere_lets_the_slot_follow(pipeline: Pipeline) -> None:
    pipeline.database.execute("CREATE TABLE elsewhere (filler text)")
    pipeline.start_relay()
    pipeline.database.execute(WRITE_ELSEWHERE)
    lsn = wal_lsn(pipeline)
    wait_until_confirmed(pipeline, lsn, timeout=30)
