"""A record that cannot be published is parked with its reason, and keeps nobody waiting; an outage parks nobody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka import Message

from tests.fixtures.bad_rows import (
    GOOD_TOPICS,
    PUBLICATION,
    WAYS,
    Way,
    config_sections,
    create_tables,
    create_topics,
    fill,
)
from tests.fixtures.consume import read_topic, wait_for_records
from tests.fixtures.fix_kafka import Kafka, KafkaBroker, MakeKafka
from tests.fixtures.fix_postgres import Database, PostgresServer
from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess, relay_config
from tests.fixtures.outbox import insert_event
from tests.fixtures.parked import end_lsn, logged, parked, readiness
from tests.fixtures.planted import PASSWORD
from tests.fixtures.process import wait_until
from tests.integration.parking_rig import number_of, wait_confirmed

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]

EVENTS = 10_000
BAD = 100


# --- ten thousand events, a hundred of them unpublishable in ten ways


@dataclass
class Mixed:
    database: Database
    kafka: KafkaBroker
    slot: str
    end_lsn: int
    relay: RelayProcess

    def delivered(self) -> list[int]:
        """The numbers of the events on all topics."""
        topics = [f"{self.slot}.{name}" for name in (*GOOD_TOPICS, "strict", "timed")]
        return sorted(number_of(record) for topic in topics for record in read_topic(self.kafka.bootstrap, topic))

    def parked(self, columns: str, way: Way) -> list[tuple[Any, ...]]:
        return parked(self.database, columns, where=f"convert_from(value, 'UTF8')::jsonb ->> 'way' = '{way.code}'")


@pytest.fixture(scope="module")
def mixed(postgres: PostgresServer, kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mixed]:
    """A relay that has drained them and stopped."""
    assert isinstance(kafka, KafkaBroker)
    database = Database(postgres)
    slot = database.name
    with database.connect() as conn:
        create_tables(conn)
        conn.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [slot])
        fill(conn, EVENTS, per_transaction=10, with_bad=True)
    create_topics(kafka, slot)
    dsn = database.dsn(database.create_relay_role(), password=PASSWORD)
    config = relay_config(dsn, slot, PUBLICATION, "public.outbox", kafka.bootstrap, **config_sections(slot))
    relay = RelayProcess(config, tmp_path_factory.mktemp("relay"), "--log-level", "debug")
    seen = Mixed(database, kafka, slot, end_lsn(database), relay)
    seen.relay.start()
    try:
        drain(seen)
        yield seen
    finally:
        seen.relay.kill()
        database.drop()


def drain(mixed: Mixed) -> None:
    def is_done() -> bool:
        assert mixed.relay.is_running, mixed.relay.stderr
        return mixed.database.confirmed_lsn(mixed.slot) >= mixed.end_lsn

    try:
        wait_until(is_done, timeout=120, what="the slot is confirmed to the end")
    except TimeoutError as exc:
        raise TimeoutError(f"{exc}\n{mixed.relay.stderr[-5000:]}") from exc
    assert mixed.relay.stop() == 0, mixed.relay.stderr


def test_every_publishable_event_is_delivered_once(mixed: Mixed) -> None:
    """Whatever batch it travelled in."""
    assert mixed.delivered() == [n for n in range(1, EVENTS + 1) if n % (EVENTS // BAD) != EVENTS // BAD // 2]


def test_just_the_unpublishable_events_are_parked(mixed: Mixed) -> None:
    assert len(parked(mixed.database)) == BAD


@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(way.code))
def test_each_is_parked_with_its_code_its_class_and_a_remedy(way: Way, mixed: Mixed) -> None:
    found = mixed.parked("error_code, error_class, status, remedy", way)
    assert len(found) == BAD // len(WAYS)
    assert {row[:3] for row in found} == {(way.code, way.error_class, way.status)}
    assert way.remedy in found[0][3]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(way.code))
def test_each_is_parked_as_its_writer_wrote_it(way: Way, mixed: Mixed) -> None:
    table = "legacy" if way.code == "missing_column" else "outbox"
    written = mixed.database.execute(
        f"SELECT id::text, aggregateid, payload FROM {table} WHERE payload ->> 'way' = %s ORDER BY payload -> 'n'",
        [way.code],
    )
    held = mixed.parked("event_id, convert_from(key, 'UTF8'), convert_from(value, 'UTF8')::jsonb", way)
    assert held == written


def test_the_dead_are_logged_once_each_and_without_what_is_in_them(mixed: Mixed) -> None:
    dead = [way for way in WAYS if way.status == "dead"]
    lines = logged(mixed.relay, "outbox_failed")
    assert sorted(line["code"] for line in lines) == sorted(way.code for way in dead for _ in range(BAD // len(WAYS)))
    assert "xxx" not in mixed.relay.stderr


def test_at_debug_each_acknowledged_record_is_logged(mixed: Mixed) -> None:
    lines = logged(mixed.relay, "outbox_success")
    assert len(lines) == len({line["event_id"] for line in lines}) == EVENTS - BAD


def test_the_view_of_the_dead_has_them_all(mixed: Mixed) -> None:
    [(count,)] = mixed.database.execute("SELECT count(*) FROM cdc_relay.dead_letters WHERE remedy IS NOT NULL")
    assert count == sum(BAD // len(WAYS) for way in WAYS if way.status == "dead")


def test_a_restart_delivers_and_parks_nothing_of_it_again(mixed: Mixed) -> None:
    mixed.relay.start().wait_ready()
    mixed.database.execute("INSERT INTO outbox VALUES (gen_random_uuid(), 'plain', 'k', 'placed', '{\"n\": 0}')")
    end = end_lsn(mixed.database)
    wait_until(lambda: mixed.database.confirmed_lsn(mixed.slot) >= end, timeout=60, what="the last event is confirmed")
    assert mixed.relay.stop() == 0
    assert len(mixed.delivered()) == EVENTS - BAD + 1
    assert len(parked(mixed.database)) == BAD


# --- an outage

OUTAGES = ("killed", "frozen")
IMPATIENT = {"partial_outage_after": "2s"}
HELD_SECONDS = 15  # with probes of 5 s, several of them


def cut_off(broker: KafkaBroker, how: str) -> None:
    broker.kill() if how == "killed" else broker.freeze()


def repair(broker: KafkaBroker, how: str) -> None:
    broker.start() if how == "killed" else broker.thaw()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("how", OUTAGES)
def test_an_outage_of_the_broker_parks_nobody_and_loses_nobody(
    how: str, make_kafka: MakeKafka, make_pipeline: MakePipeline
) -> None:
    """However long, be there one topic or two: there is no way to tell a lonely topic from its cluster but to ask."""
    broker = make_kafka()
    lonely, pair = make_pipeline(kafka=broker), make_pipeline(kafka=broker)
    broker.create_topic(f"{pair.topic}-2")
    relays = [pipeline.start_relay(delivery=IMPATIENT) for pipeline in (lonely, pair)]
    ids = {pipeline.topic: [pipeline.insert()] for pipeline in (lonely, pair)}
    second_ids: list[str] = []
    for pipeline in (lonely, pair):
        pipeline.wait_for_records(1)
    cut_off(broker, how)
    for n in range(50):
        for pipeline in (lonely, pair):
            ids[pipeline.topic].append(pipeline.insert(f"k{n}"))
        with pair.database.connect() as conn:
            second_ids.append(insert_event(conn, f"{pair.aggregate_type}-2", f"k{n}"))
    end_of = {pipeline.topic: end_lsn(pipeline.database) for pipeline in (lonely, pair)}
    wait_until(lambda: min(map(holds_for, relays)) > HELD_SECONDS, timeout=90, what="they hold")
    assert [parked(pipeline.database) for pipeline in (lonely, pair)] == [[], []]
    repair(broker, how)
    for pipeline in (lonely, pair):
        wait_confirmed(pipeline, end_of[pipeline.topic])
        assert {id_of(record) for record in pipeline.records()} == set(ids[pipeline.topic])
        assert parked(pipeline.database) == []
    second = wait_for_records(broker.bootstrap, f"{pair.topic}-2", 50)
    assert {id_of(record) for record in second} == set(second_ids)


def holds_for(relay: RelayProcess) -> float:
    said = readiness(relay)
    return float(said["since_seconds"]) if said["state"] == "holding" else 0.0


def id_of(record: Message) -> str:
    headers: Any = record.headers()
    return str(dict(headers)["id"].decode())


# --- start


def test_a_start_without_the_table_is_refused_with_the_command_that_makes_it(pipeline: Pipeline) -> None:
    pipeline.database.execute("DELETE FROM cdc_relay.schema_version WHERE version IN (4, 7)")
    relay = pipeline.start_relay(ready=False)
    assert relay.wait(60) == 3
    assert "the lot is not there" in relay.stderr
    assert "cdc-relay setup -c" in relay.stderr


def test_a_row_parked_while_the_broker_is_well_does_not_wait_for_the_next_record(pipeline: Pipeline) -> None:
    """The slot is confirmed behind a parked record though nothing follows it."""
    pipeline.start_relay()
    with pipeline.database.connect() as conn:
        insert_event(conn, "not/allowed")
        end = end_lsn(conn)
    wait_confirmed(pipeline, end)
    assert parked(pipeline.database) == [("dead",)]
