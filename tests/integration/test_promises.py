"""Promises that no other test on real servers would see broken: see `python -m tests.breakage`."""

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
from tests.fixtures.fix_postgres import Database, MakePostgres, PostgresServer
from tests.fixtures.fix_proxy import MakeProxy, TcpProxy
from tests.fixtures.fix_relay import MakePipeline, MakeRelay, Pipeline, RelayProcess
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.outbox import insert_event, insert_events
from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import Config

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]

WINDOW = 10
WAL_SENDER_TIMEOUT = timedelta(seconds=2)
IMPATIENT = {"wal_sender_timeout": f"{WAL_SENDER_TIMEOUT.seconds}s"}
ON_THE_LINE = 2000  # rows: several turns of the loop, and less than a socket holds
PATIENT = {"topic.metadata.propagation.max.ms": 120_000}  # a missing topic is taken for a new one: nobody is parked
READER = """
SELECT clock_timestamp(), s.confirmed_flush_lsn - '0/0', s.active_pid, r.reply_time
  FROM pg_replication_slots s LEFT JOIN pg_stat_replication r ON r.pid = s.active_pid
 WHERE s.slot_name = %s
"""


@pytest.fixture(scope="module")
def cut_off() -> Iterator[tuple[KafkaBroker, TcpProxy]]:
    """A broker that makes no topics by itself, and the proxy that can cut it off."""
    jars = find_jars()
    assert isinstance(jars, Path)  # the mark real_kafka has seen to it
    proxy = TcpProxy()
    broker = KafkaBroker(jars, {"auto.create.topics.enable": False}, proxy_port=proxy.port)
    proxy.retarget("127.0.0.1", broker.behind_proxy_port)
    try:
        broker.start()
        yield broker, proxy
    finally:
        broker.destroy()
        proxy.close()


def relay_maker(directory: Path) -> MakeRelay:
    def make(config: Config, *arguments: str) -> RelayProcess:
        return RelayProcess(config, directory, *arguments).start()

    return make


def wal_lsn(pipeline: Pipeline) -> int:
    [(lsn,)] = pipeline.database.execute("SELECT pg_current_wal_insert_lsn() - '0/0'")
    return int(lsn)


def readiness(relay: RelayProcess) -> dict[str, Any]:
    """What /readyz says; empty while nobody answers."""
    try:
        return dict(json.loads(relay.get("/readyz")[1]))
    except (OSError, http.client.HTTPException):
        return {}


def open_records(relay: RelayProcess) -> int:
    return int(readiness(relay).get("open_records", 0))


def event_ids(pipeline: Pipeline) -> list[str]:
    """Of all that is on the topic."""
    return [id_of(record.headers()) for record in pipeline.records()]


def id_of(headers: Any) -> str:
    [(name, value)] = headers
    assert name == "id"
    return str(value.decode())


def cut(proxy: TcpProxy) -> None:
    proxy.refuse()
    proxy.cut()


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


# --- a line that was lost (promises 1 and 16)


def test_what_was_queued_when_the_line_broke_is_read_again_and_published_once(
    make_pipeline: MakePipeline, cut_off: tuple[KafkaBroker, TcpProxy]
) -> None:
    """It never left the relay, so nothing excuses a duplicate."""
    broker, proxy = cut_off
    pipeline = make_pipeline(kafka=broker)
    relay = pipeline.start_relay(bootstrap=proxy.address)
    cut(proxy)
    try:
        ids = [pipeline.insert() for _ in range(3)]
        wait_until(lambda: open_records(relay) == 3, timeout=30, what="three records are queued")
        pipeline.database.terminate_walsenders()
        relay.wait_for_log('"state": "waiting"')
    finally:
        proxy.accept()
    relay.wait_for_log('"state": "streaming"', count=2)
    last = pipeline.insert()
    wait_until(lambda: last in event_ids(pipeline), timeout=60, what="the last event is on the topic")
    assert event_ids(pipeline) == [*ids, last]


def test_a_relay_that_stood_still_publishes_nothing_of_what_it_finds_on_its_line(pipeline: Pipeline) -> None:
    """Its slot belongs to another by then, who has published it. Without linger, whatever is produced is soon sent."""
    paused = pipeline.start_relay(source=IMPATIENT, sink={"kafka": {"linger.ms": 0}})
    heir = pipeline.start_relay(ready=False, source=IMPATIENT)
    heir.wait_for_log('"state": "standby"')
    paused.pause()
    try:
        with pipeline.database.connect() as conn:
            insert_events(conn, ON_THE_LINE, pipeline.aggregate_type)
        end = wal_lsn(pipeline)
        wait_until(lambda: pipeline.confirmed_lsn() >= end, timeout=60, what="the heir publishes everything")
    finally:
        paused.resume()
    paused.wait_for_log('"state": "standby"')
    assert len(event_ids(pipeline)) == ON_THE_LINE


# --- a stop (promise 10)

BACKLOG = 30_000
WRITE_BACKLOG = """
DO $$ BEGIN
  FOR n IN 1..{count} LOOP
    INSERT INTO outbox VALUES (gen_random_uuid(), '{aggregate_type}', 'k', 'T', '{{}}');
    COMMIT;
  END LOOP;
END $$
"""


def test_a_stop_in_the_middle_of_a_backlog_confirms_what_was_delivered(
    pipeline: Pipeline, make_proxy: MakeProxy
) -> None:
    """Over a network that takes its time: closing a socket with unread data resets the line, and whatever was on its
    way to Postgres is lost."""
    proxy = make_proxy("127.0.0.1", pipeline.database.server.port)
    pipeline.database.execute(WRITE_BACKLOG.format(count=BACKLOG, aggregate_type=pipeline.aggregate_type))
    relay = pipeline.start_relay(dsn=pipeline.database.dsn(port=proxy.port))
    wait_until(lambda: readiness(relay).get("published_records", 0) > 0, timeout=30, every=0.01, what="records flow")
    proxy.delay(0.2, "to_server")
    assert relay.stop() == 0
    assert len(pipeline.records()) < BACKLOG, "it was too fast, so nothing was shown"

    pipeline.start_relay()
    end = wal_lsn(pipeline)
    wait_until(lambda: pipeline.confirmed_lsn() >= end, timeout=60, what="the backlog is done")
    assert len(pipeline.records()) <= BACKLOG + 1  # a transaction that was read by half comes again


def test_a_stop_waits_for_what_is_in_flight(make_pipeline: MakePipeline, cut_off: tuple[KafkaBroker, TcpProxy]) -> None:
    broker, proxy = cut_off
    pipeline = make_pipeline(kafka=broker)
    relay = pipeline.start_relay(bootstrap=proxy.address)
    cut(proxy)
    try:
        ids = [pipeline.insert() for _ in range(3)]
        end = wal_lsn(pipeline)
        wait_until(lambda: open_records(relay) == 3, timeout=30, what="three records are in flight")
        relay.terminate()
        relay.wait_for_log('"state": "stopping"')
    finally:
        proxy.accept()
    assert relay.wait(35) == 0
    assert event_ids(pipeline) == ids
    assert pipeline.confirmed_lsn() >= end


# --- a synchronous standby (promise 13)


def test_a_relay_that_would_be_a_synchronous_standby_is_refused_before_it_streams(
    make_postgres: MakePostgres, make_pipeline: MakePipeline
) -> None:
    """Its sync_state would tell it only later, when commits have begun to wait for it."""
    server = make_postgres(synchronous_commit="local", synchronous_standby_names="*")
    relay = make_pipeline(server=server).start_relay(ready=False)
    assert relay.wait(60) == 3
    assert '"state": "streaming"' not in relay.stderr
    assert "a synchronous standby" in relay.stderr
