"""The migration guides and the producers' guide are followed as they are written, on real servers."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest
import yaml
from confluent_kafka import Message

from tests.fixtures.consume import wait_for_records
from tests.fixtures.database import Database
from tests.fixtures.fix_kafka import Kafka
from tests.fixtures.fix_relay import MakeRelay
from tests.integration.guides import Block, Walk, blocks
from tests.integration.producer_rig import create_table

DEBEZIUM, POLLING = "migrating-from-debezium.md", "migrating-from-polling.md"
RIGHTS = {"retention.lot", "retention.rights"}  # that the role lacks, where check finds them
READ_ON = (
    "SELECT count(*) FROM pg_logical_slot_get_binary_changes("
    "%s, NULL, NULL, 'proto_version', '1', 'publication_names', 'dbz_publication')"
)


@pytest.fixture
def walk(database: Database, kafka: Kafka, make_relay: MakeRelay, tmp_path: Path) -> Walk:
    return Walk(database, kafka, make_relay, tmp_path)


def numbers(kafka: Kafka, topic: str, count: int) -> list[int]:
    return [number_of(record) for record in wait_for_records(kafka.bootstrap, topic, count)]


def number_of(record: Message) -> int:
    return int(json.loads(record.value() or b"")["n"])


# --- from Debezium


def have_a_connector(walk: Walk, aggregate_type: str) -> None:
    """As Debezium leaves its things: a publication of everything, a slot with two events not confirmed."""
    create_table(walk.database)
    walk.database.execute("CREATE PUBLICATION dbz_publication FOR ALL TABLES")
    walk.database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [walk.slot])
    insert(walk, aggregate_type, 1, 2, 3)
    walk.database.execute(READ_ON, [walk.slot])
    insert(walk, aggregate_type, 4, 5)


def insert(walk: Walk, aggregate_type: str, *given: int) -> None:
    for number in given:
        walk.database.execute(
            "INSERT INTO outbox VALUES (gen_random_uuid(), %s, 'k', 'Placed', %s)",
            [aggregate_type, json.dumps({"n": number})],
        )


@pytest.mark.kafka
def test_the_connectors_slot_is_taken_over_without_a_gap(
    walk: Walk, kafka: Kafka, aggregate_type: str, topic: str
) -> None:
    have_a_connector(walk, aggregate_type)
    for block in blocks(DEBEZIUM, "1. The file", "2. Rights and schema", "Taking over its slot"):
        walk.take(block)
    insert(walk, aggregate_type, 6)
    records = wait_for_records(kafka.bootstrap, topic, 3)
    assert not RIGHTS & walk.worries()
    assert [number_of(record) for record in records] == [4, 5, 6]
    assert {dict(record.headers() or [])["eventType"] for record in records} == {b"Placed"}


@pytest.mark.kafka
def test_a_slot_of_its_own_has_every_event_since_setup(
    walk: Walk, kafka: Kafka, aggregate_type: str, topic: str
) -> None:
    have_a_connector(walk, aggregate_type)
    for block in blocks(DEBEZIUM, "1. The file", "2. Rights and schema"):
        walk.take(block)
    own = {"slot": f"{walk.slot}_own", "publication": "relay_outbox"}
    walk.write(walk.config | {"source": walk.config["source"] | own})
    *steps, drop_slot = blocks(DEBEZIUM, "A slot of its own")
    for number, block in enumerate(steps, start=6):
        walk.take(block)
        insert(walk, aggregate_type, number)
    assert numbers(kafka, topic, 3) == [6, 7, 8]
    assert not RIGHTS & walk.worries()
    walk.take(drop_slot)
    assert walk.database.slot_names() == [own["slot"]]


# --- from a poller


def have_polled(walk: Walk, topic: str, *given: int, is_done: bool) -> None:
    for number in given:
        walk.database.execute(
            "INSERT INTO outbox_events (topic, key, event_type, payload, processed_at)"
            " VALUES (%s, 'k', 'T', %s, CASE WHEN %s THEN now() END)",
            [topic, json.dumps({"n": number}), is_done],
        )


@pytest.mark.kafka
def test_what_the_poller_left_over_is_published_once_and_what_it_did_is_not(
    walk: Walk, kafka: Kafka, topic: str
) -> None:
    table, file, *steps = blocks(
        POLLING, "Migrating from a polling outbox", "How the overlap is handled", "Step by step"
    )
    walk.take(table)
    have_polled(walk, topic, 1, 2, 3, is_done=True)
    have_polled(walk, topic, 4, 5, is_done=False)
    walk.take(file)
    for block in steps:
        walk.take(block)
        if "--backfill" in block.text:
            have_polled(walk, topic, 6, is_done=False)
    have_polled(walk, topic, 7, is_done=False)
    assert numbers(kafka, topic, 4) == [4, 5, 6, 7]
    clean_up(walk)
    walk.database.execute(
        "INSERT INTO outbox_events (topic, key, event_type, payload) VALUES (%s, 'k', 'T', '{\"n\": 8}')", [topic]
    )
    assert numbers(kafka, topic, 5) == [4, 5, 6, 7, 8]


def clean_up(walk: Walk) -> None:
    """In the guide's order: the route first, then the column."""
    assert walk.relay is not None and walk.relay.stop() == 0
    [outbox] = walk.config["outboxes"]
    assert outbox["routes"][0]["drop"] is True
    walk.write(walk.config | {"outboxes": [outbox | {"routes": outbox["routes"][1:]}]})
    walk.take(Block("", "sh", "PGUSER=relay cdc-relay run -c relay.yaml"))
    for block in blocks(POLLING, "What to delete"):
        if block.language == "yaml":
            add_to_outbox(walk, block)
        else:
            walk.take(block)
    assert not RIGHTS & walk.worries()


def add_to_outbox(walk: Walk, block: Block) -> None:
    [outbox], [more] = walk.config["outboxes"], yaml.safe_load(block.text)["outboxes"]
    assert outbox["table"] == more["table"]
    walk.write(walk.config | {"outboxes": [outbox | more]})


# --- producers


def test_the_code_of_the_producers_guide_runs(database: Database) -> None:
    create_table(database)
    database.execute("CREATE TABLE orders (id text, state text)")
    database.execute(
        'CREATE TABLE "Commands" (command_id uuid, tenant_id text, type text, payload jsonb, region text NOT NULL)'
    )
    with psycopg.connect(database.dsn()) as conn:
        scope: dict[str, object] = {"conn": conn}
        for block in blocks("producers.md"):
            if block.language == "python":
                exec(block.text, scope)
    types = [kind for (kind,) in database.execute("SELECT type FROM outbox ORDER BY id")]
    assert types == ["OrderPlaced", "LineAdded", "LineAdded", "LineAdded", "Remind"]
    assert database.execute('SELECT tenant_id, type, region FROM "Commands"') == [("acme", "CloseBooks", "eu")]
