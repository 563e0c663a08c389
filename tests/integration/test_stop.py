"""Stopping (promise 10): clean within the deadline, honest when it is not, at once when told twice; never a loss."""

from __future__ import annotations

import http.client
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fixtures.fix_kafka import Kafka, KafkaBroker
from tests.fixtures.fix_postgres import Database, PostgresServer
from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.outbox import insert_event, insert_events
from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import Config
from tests.fixtures.scratch import free_port

pytestmark = pytest.mark.kafka

LARGE = 200_000  # rows of one transaction


def published(relay: RelayProcess) -> int:
    return int(relay.metric("outbox_published_total"))


def in_flight(relay: RelayProcess) -> int:
    return int(relay.metric("outbox_in_flight_records"))


def wal_lsn(pipeline: Pipeline) -> int:
    [(lsn,)] = pipeline.database.execute("SELECT pg_current_wal_insert_lsn() - '0/0'")
    return int(lsn)


def event_count(pipeline: Pipeline) -> int:
    """How many different events are on the topic."""
    return len({str(record.headers()) for record in pipeline.records()})


# --- under load


class Writer:
    """Commits transactions as fast as it can, until told to end; the key of a row is its transaction."""

    def __init__(self, pipeline: Pipeline, *, row_count: int) -> None:
        self.commit_count = 0
        self._pipeline = pipeline
        self._row_count = row_count
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._write, name="writer")
        self._thread.start()

    def end(self) -> None:
        self._enough.set()
        self._thread.join()

    def _write(self) -> None:
        insert = (
            "INSERT INTO outbox SELECT gen_random_uuid(), %s, %s::text, 'T', jsonb_build_object('n', n)"
            " FROM generate_series(1, %s) AS n"
        )
        with self._pipeline.database.connect() as conn:
            while not self._enough.is_set():
                conn.execute(insert, [self._pipeline.aggregate_type, self.commit_count, self._row_count])
                self.commit_count += 1


@dataclass
class Restart:
    """What was on the topic, by transaction, after a stop under load and after the next relay had caught up."""

    exit_code: int
    commit_count: int
    row_count: int  # of each transaction
    at_stop: Counter[bytes | None]
    at_end: Counter[bytes | None]


def rows_by_transaction(pipeline: Pipeline) -> Counter[bytes | None]:
    return Counter(record.key() for record in pipeline.records())


@pytest.fixture(
    scope="module",
    params=[(signal.SIGTERM, 1), (signal.SIGINT, 10)],
    ids=["SIGTERM, 1 row", "SIGINT, 10 rows"],
)
def restart(
    request: pytest.FixtureRequest, postgres: PostgresServer, kafka: Kafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Restart]:
    database = Database(postgres)
    relays: list[RelayProcess] = []

    def make_relay(config: Config, *arguments: str) -> RelayProcess:
        relays.append(RelayProcess(config, tmp_path_factory.mktemp("relay"), *arguments).start())
        return relays[-1]

    try:
        yield stop_and_restart(Pipeline(database, kafka, make_relay), *request.param)
    finally:
        for relay in relays:
            relay.kill()
        database.drop()


def stop_and_restart(pipeline: Pipeline, signal_number: signal.Signals, row_count: int) -> Restart:
    writer = Writer(pipeline, row_count=row_count)
    try:
        relay = pipeline.start_relay()
        wait_until(lambda: published(relay) > 1000, timeout=60, what="records flow")
        os.kill(relay.pid, signal_number)
        exit_code = relay.wait(35)
        at_stop = rows_by_transaction(pipeline)
        again = pipeline.start_relay()
        wait_until(lambda: published(again) > 1000, timeout=60, what="records flow again")
    finally:
        writer.end()
    lsn = wal_lsn(pipeline)
    wait_until(lambda: pipeline.confirmed_lsn() >= lsn, timeout=60, what="the second relay has caught up")
    return Restart(exit_code, writer.commit_count, row_count, at_stop, rows_by_transaction(pipeline))


@pytest.mark.core
def test_after_a_clean_stop_under_load_no_fully_delivered_transaction_comes_again(restart: Restart) -> None:
    assert restart.exit_code == 0
    complete = [transaction for transaction, count in restart.at_stop.items() if count == restart.row_count]
    assert [transaction for transaction in complete if restart.at_end[transaction] > restart.row_count] == []


@pytest.mark.core
def test_after_a_clean_stop_under_load_nothing_is_missing(restart: Restart) -> None:
    assert restart.exit_code == 0
    assert len(restart.at_end) == restart.commit_count
    assert [transaction for transaction, count in restart.at_end.items() if count < restart.row_count] == []


@pytest.mark.core
@pytest.mark.real_kafka  # the mock cluster takes minutes to give so many back
def test_a_stop_in_the_middle_of_a_large_transaction_is_clean_and_everything_arrives_later(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay(delivery={"window": {"records": 1000}})
    with pipeline.database.connect() as conn:
        insert_events(conn, LARGE, pipeline.aggregate_type, payload_bytes=50)
    wait_until(lambda: published(relay) > 0, timeout=60, what="the transaction is on its way")
    assert relay.stop() == 0
    assert len(pipeline.records()) < LARGE

    again = pipeline.start_relay()
    wait_until(lambda: published(again) == LARGE, timeout=120, what="the whole transaction is delivered again")
    assert event_count(pipeline) == LARGE


@pytest.mark.core
def test_a_stop_between_the_last_row_of_a_transaction_and_its_commit_delivers_nothing_twice(pipeline: Pipeline) -> None:
    """A window of one record is full after each row, so the relay waits for its report just there."""
    count = 200
    with pipeline.database.connect() as conn:
        for _ in range(count):
            insert_event(conn, pipeline.aggregate_type)
    relay = pipeline.start_relay(delivery={"window": {"records": 1}})
    wait_until(lambda: published(relay) > 3, timeout=60, what="records flow")
    assert relay.stop() == 0

    pipeline.start_relay()
    wait_until(lambda: event_count(pipeline) == count, timeout=60, what="every event is on the topic")
    assert len(pipeline.records()) == count


@pytest.mark.core
def test_a_stopped_relay_has_confirmed_all_that_it_delivered(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay()
    lsn = wal_lsn(pipeline)
    pipeline.insert()
    pipeline.wait_for_records(1)
    assert relay.stop() == 0
    assert pipeline.confirmed_lsn() > lsn


def test_an_idle_relay_stops_at_once(pipeline: Pipeline) -> None:
    assert pipeline.start_relay().stop(timeout=5) == 0


# --- with a broker that does not answer


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


@pytest.fixture
def stuck(broker: KafkaBroker, make_pipeline: MakePipeline) -> Iterator[tuple[Pipeline, RelayProcess, int]]:
    """A relay with three records that a frozen broker does not acknowledge, and where in the WAL they begin."""
    pipeline = make_pipeline(kafka=broker)
    # On a busy machine the line may be silent for seconds: a relay that connects anew just then has nothing in flight.
    relay = pipeline.start_relay(delivery={"drain": "2s"}, source={"wal_sender_timeout": "1h"})
    pipeline.insert()
    wait_until(lambda: published(relay) == 1, timeout=60, what="the first record is acknowledged")
    lsn = wal_lsn(pipeline)
    broker.freeze()
    try:
        with pipeline.database.connect() as conn:
            insert_events(conn, 3, pipeline.aggregate_type)
        wait_until(lambda: in_flight(relay) == 3, timeout=30, what="three records are in flight")
        yield pipeline, relay, lsn
    finally:
        broker.thaw()


@pytest.mark.real_kafka
def test_a_stop_that_cannot_drain_exits_1_and_says_how_many_will_come_again(
    stuck: tuple[Pipeline, RelayProcess, int],
) -> None:
    _, relay, _ = stuck
    assert relay.stop(timeout=20) == 1
    assert "stopped with 3 records unsettled after 2 s: they will be published again" in relay.stderr
    assert "what to do: nothing is lost" in relay.stderr
    assert "Traceback" not in relay.stderr


@pytest.mark.real_kafka
def test_what_could_not_be_drained_is_not_confirmed_and_comes_with_the_next_start(
    stuck: tuple[Pipeline, RelayProcess, int], broker: KafkaBroker
) -> None:
    pipeline, relay, lsn = stuck
    relay.stop(timeout=20)
    assert pipeline.confirmed_lsn() <= lsn
    broker.thaw()
    again = pipeline.start_relay()
    wait_until(lambda: published(again) == 3, timeout=60, what="the three records are delivered")
    assert event_count(pipeline) == 4


@pytest.mark.real_kafka
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_second_signal_ends_it_at_once(
    broker: KafkaBroker, make_pipeline: MakePipeline, second: signal.Signals
) -> None:
    pipeline = make_pipeline(kafka=broker)
    relay = pipeline.start_relay(delivery={"drain": "1h"})
    broker.freeze()
    try:
        pipeline.insert()
        wait_until(lambda: in_flight(relay) == 1, timeout=30, what="a record is in flight")
        relay.terminate()
        relay.wait_for_log('"state": "stopping"')
        os.kill(relay.pid, second)
        assert relay.wait(5) == 1
    finally:
        broker.thaw()


# --- before it streams


def test_a_stop_while_waiting_for_postgres_is_prompt_and_clean(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay(ready=False, dsn=pipeline.dsn(port=free_port()))
    relay.wait_for_log('"state": "waiting"')
    assert relay.stop(timeout=10) == 0


def test_a_stop_while_the_broker_is_being_asked_is_prompt_and_clean(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay(ready=False, bootstrap=f"127.0.0.1:{free_port()}")
    wait_until(lambda: answers(relay), timeout=30, what="the relay has begun to start")
    assert relay.stop(timeout=10) == 0


def answers(relay: RelayProcess) -> bool:
    try:
        return relay.get("/livez")[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def test_a_standby_stops_promptly_and_cleanly(pipeline: Pipeline) -> None:
    pipeline.start_relay()
    standby = pipeline.start_relay(ready=False)
    standby.wait_for_log('"state": "standby"')
    assert standby.stop(timeout=10) == 0
