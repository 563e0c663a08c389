"""Promises 2, 4, 5 and 6 while the broker is away: how far the slot is confirmed, what is heard, what is open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

import pytest

from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_postgres import Database, PostgresServer
from tests.fixtures.fix_proxy import TcpProxy
from tests.fixtures.fix_relay import Pipeline, RelayProcess
from tests.fixtures.outbox import insert_event, insert_events
from tests.fixtures.process import wait_until
from tests.integration.promise_rig import (
    IMPATIENT,
    WAL_SENDER_TIMEOUT,
    cut,
    open_records,
    readiness,
    relay_maker,
    run_cut_off,
    wal_lsn,
)

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]

WINDOW = 10

PATIENT = {"topic.metadata.propagation.max.ms": 120_000}  # a missing topic is taken for a new one: nobody is parked
READER = """
SELECT clock_timestamp(), s.confirmed_flush_lsn - '0/0', s.active_pid, r.reply_time
  FROM pg_replication_slots s LEFT JOIN pg_stat_replication r ON r.pid = s.active_pid
 WHERE s.slot_name = %s
"""


@pytest.fixture(scope="module")
def cut_off() -> Iterator[tuple[KafkaBroker, TcpProxy]]:
    yield from run_cut_off()


# --- the window is full and the broker is away (promises 4, 5, 6)


@dataclass
class Held:
    """One relay whose broker was away for three of Postgres' time-outs, with far more to read than its window."""

    lsn_before: int
    confirmed: set[int] = field(default_factory=set)
    reader_pids: set[int | None] = field(default_factory=set)
    reply_times: set[datetime] = field(default_factory=set)
    open_records: set[int] = field(default_factory=set)

    def sample(self, pipeline: Pipeline, relay: RelayProcess) -> datetime:
        [(now, confirmed, pid, reply_time)] = pipeline.database.execute(READER, [pipeline.slot])
        self.confirmed.add(int(confirmed))
        self.reader_pids.add(pid)
        if reply_time is not None:
            self.reply_times.add(reply_time)
        self.open_records.add(open_records(relay))
        return datetime.fromisoformat(str(now))


@pytest.fixture(scope="module")
def held(
    postgres: PostgresServer, cut_off: tuple[KafkaBroker, TcpProxy], tmp_path_factory: pytest.TempPathFactory
) -> Held:
    broker, proxy = cut_off
    pipeline = Pipeline(Database(postgres), broker, relay_maker(tmp_path_factory.mktemp("relay")))
    relay = pipeline.start_relay(
        ready=False, bootstrap=proxy.address, source=IMPATIENT, delivery={"window": {"records": WINDOW}}
    )
    try:
        relay.wait_ready()
        pipeline.insert()
        first = wal_lsn(pipeline)
        wait_until(lambda: pipeline.confirmed_lsn() >= first, timeout=60, what="the first record is confirmed")
        cut(proxy)
        return watch_it_hold(pipeline, relay)
    finally:
        relay.kill()
        proxy.accept()
        pipeline.database.drop()


def watch_it_hold(pipeline: Pipeline, relay: RelayProcess) -> Held:
    seen = Held(wal_lsn(pipeline))
    with pipeline.database.connect() as conn:
        insert_events(conn, 100 * WINDOW, pipeline.aggregate_type, payload_bytes=10_000)
    enough = seen.sample(pipeline, relay) + 3 * WAL_SENDER_TIMEOUT
    wait_until(lambda: seen.sample(pipeline, relay) > enough, timeout=60, every=0.1, what="Postgres' clock goes on")
    return seen


def test_nothing_is_settled_that_no_broker_acknowledged(held: Held) -> None:
    assert max(held.confirmed) <= held.lsn_before


def test_postgres_hears_from_a_relay_with_a_full_window_and_keeps_it(held: Held) -> None:
    assert len(held.reader_pids) == 1
    assert len(held.reply_times) > 10  # four a second, of which not every one is sampled


def test_no_more_is_open_than_the_window_allows(held: Held) -> None:
    assert max(held.open_records) == WINDOW


# --- the oldest record is open, later ones are not (promise 2)


@dataclass
class Overtaken:
    """Where the slot was while the record of a missing topic was open."""

    lsn_before: int
    lsn_after: int
    confirmed_after_later_ack: int = 0
    confirmed_after_idle_check: int = 0
    confirmed_at_last: int = 0


@pytest.fixture(scope="module")
def overtaken(
    postgres: PostgresServer, cut_off: tuple[KafkaBroker, TcpProxy], tmp_path_factory: pytest.TempPathFactory
) -> Overtaken:
    broker, _ = cut_off
    pipeline = Pipeline(Database(postgres), broker, relay_maker(tmp_path_factory.mktemp("relay")))
    pipeline.database.execute("CREATE TABLE elsewhere (filler text)")
    relay = pipeline.start_relay(ready=False, sink={"kafka": PATIENT}, delivery={"partial_outage_after": "10m"})
    try:
        relay.wait_ready()
        return watch_it_wait(pipeline, relay)
    finally:
        relay.kill()
        pipeline.database.drop()


def watch_it_wait(pipeline: Pipeline, relay: RelayProcess) -> Overtaken:
    seen = Overtaken(wal_lsn(pipeline), 0)
    with pipeline.database.connect() as conn:
        insert_event(conn, f"{pipeline.aggregate_type}-late")
    pipeline.insert()
    seen.lsn_after = wal_lsn(pipeline)
    pipeline.wait_for_records(1)
    hear_status_updates(pipeline)
    seen.confirmed_after_later_ack = pipeline.confirmed_lsn()
    let_an_idle_position_be_checked(pipeline, relay)
    seen.confirmed_after_idle_check = pipeline.confirmed_lsn()
    pipeline.kafka.create_topic(f"{pipeline.topic}-late")
    pipeline.insert()
    wait_until(lambda: pipeline.confirmed_lsn() >= seen.lsn_after, timeout=60, what="the slot follows at last")
    seen.confirmed_at_last = pipeline.confirmed_lsn()
    return seen


def hear_status_updates(pipeline: Pipeline) -> None:
    """Whatever the relay thought safe a moment ago, Postgres has heard it afterwards."""
    replies: set[datetime | None] = set()

    def are_heard() -> bool:
        replies.add(pipeline.database.execute(READER, [pipeline.slot])[0][3])
        return len(replies) > 3

    wait_until(are_heard, timeout=30, what="three status updates more")


def let_an_idle_position_be_checked(pipeline: Pipeline, relay: RelayProcess) -> None:
    """A write elsewhere makes the server send a position without a change; the lag that the relay shows is from its
    last look at the catalog."""
    pipeline.database.execute("INSERT INTO elsewhere SELECT repeat('x', 1000) FROM generate_series(1, 1000)")
    lag = wal_lsn(pipeline) - pipeline.confirmed_lsn()
    wait_until(
        lambda: (readiness(relay).get("slot_lag_bytes") or 0) >= lag - 200_000, timeout=60, what="the relay has looked"
    )
    hear_status_updates(pipeline)


def test_the_slot_stays_before_an_open_record_when_a_later_transaction_is_acknowledged(overtaken: Overtaken) -> None:
    assert overtaken.confirmed_after_later_ack <= overtaken.lsn_before


def test_the_slot_stays_before_an_open_record_when_the_server_is_idle_past_it(overtaken: Overtaken) -> None:
    assert overtaken.confirmed_after_idle_check <= overtaken.lsn_before


def test_the_slot_follows_when_the_oldest_record_is_acknowledged(overtaken: Overtaken) -> None:
    assert overtaken.confirmed_at_last >= overtaken.lsn_after
