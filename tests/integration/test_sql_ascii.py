"""A database in SQL_ASCII, which holds any bytes: a row that is no text is published as it is or parked, and the
relay goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fixtures.fix_kafka import Kafka
from tests.fixtures.fix_postgres import Database, PostgresServer
from tests.fixtures.fix_relay import MakeRelay, Pipeline, RelayProcess
from tests.fixtures.numbered import dlq
from tests.fixtures.process import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.core]

NO_TEXT = b"k\xff\xfe"
COLUMNS = ("id", "aggregatetype", "aggregateid", "type", "payload")
PUBLISHED = "published"
# envelope -> what becomes of a row by the column that is no text
OUTCOMES: dict[str, dict[str, str]] = {
    "debezium": {"aggregateid": PUBLISHED, "type": PUBLISHED, "payload": PUBLISHED, "id": PUBLISHED},
    "raw": {"aggregateid": PUBLISHED, "type": PUBLISHED, "payload": PUBLISHED, "id": PUBLISHED},
    "native": {"aggregateid": "bad_value", "type": "bad_value", "payload": "bad_value", "id": "bad_value"},
    "binary": {"aggregateid": PUBLISHED, "type": "bad_attribute", "payload": PUBLISHED, "id": "bad_attribute"},
    "structured": {"aggregateid": PUBLISHED, "type": "bad_attribute", "payload": "bad_value", "id": "bad_attribute"},
}
ENVELOPES = {"binary": "cloudevents", "structured": {"cloudevents": "structured"}}
PARKED = "SELECT error_code, last_error, remedy, status, columns FROM cdc_relay.parked_records ORDER BY commit_lsn"


class AsciiDatabase(Database):
    def __init__(self, server: PostgresServer) -> None:
        super().__init__(server)
        server.execute(f"DROP DATABASE {self.name}")
        server.execute(
            f"CREATE DATABASE {self.name} ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
        )

    def read(self, sql: str) -> list[Any]:
        """With texts as texts: without an encoding psycopg gives bytes."""
        with self.connect(client_encoding="utf8") as conn:
            return conn.execute(sql.encode()).fetchall()


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[AsciiDatabase]:
    made = AsciiDatabase(postgres)
    yield made
    made.drop()


@pytest.fixture
def pipeline(database: AsciiDatabase, kafka: Kafka, make_relay: MakeRelay) -> Pipeline:
    made = Pipeline(database, kafka, make_relay, payload_type="text")
    database.execute("ALTER TABLE outbox DROP CONSTRAINT outbox_pkey, ALTER id TYPE text")
    return made


def start(pipeline: Pipeline, envelope: str) -> RelayProcess:
    routes = [{"topic": "outbox.event.{aggregatetype}", "envelope": ENVELOPES.get(envelope, envelope)}]
    return pipeline.start_relay(outboxes=[{"table": "outbox", "routes": routes}])


def insert(pipeline: Pipeline, **row: bytes) -> None:
    """Each byte as an escape of SQL: no client's encoding comes between."""
    usual = {"id": b"e", "aggregatetype": pipeline.aggregate_type.encode(), "aggregateid": b"k", "type": b"T"}
    given = usual | {"payload": b"{}"} | row
    values = ", ".join("E'" + "".join(f"\\x{byte:02x}" for byte in value) + "'" for value in given.values())
    pipeline.database.execute(f"INSERT INTO outbox ({', '.join(given)}) VALUES ({values})")


@pytest.mark.parametrize("envelope", OUTCOMES)
def test_a_row_that_is_no_text_is_published_or_parked_with_a_reason_and_the_others_flow(
    pipeline: Pipeline, database: AsciiDatabase, envelope: str
) -> None:
    relay = start(pipeline, envelope)
    expected = OUTCOMES[envelope] | {"aggregatetype": "illegal_topic"}
    for column in expected:
        insert(pipeline, **{column: NO_TEXT})
    insert(pipeline, aggregateid=b"last")
    codes = [code for code in expected.values() if code != PUBLISHED]
    records = pipeline.wait_for_records(len(expected) - len(codes) + 1)
    assert records[-1].key() == b"last"
    wait_until(lambda: len(database.read(PARKED)) == len(codes), timeout=60, what="the others are parked")
    parked = database.read(PARKED)
    assert [row[0] for row in parked] == codes
    assert all(reason and remedy and status == "dead" for _, reason, remedy, status, _ in parked)
    assert relay.is_running
    assert len(pipeline.records()) == len(records)


@pytest.mark.parametrize("envelope", ["debezium", "raw", "binary"])
def test_bytes_of_key_and_payload_arrive_as_they_are(pipeline: Pipeline, envelope: str) -> None:
    start(pipeline, envelope)
    anything = bytes(range(1, 256))
    insert(pipeline, aggregateid=anything, payload=anything)
    [record] = pipeline.wait_for_records(1)
    assert (record.key(), record.value()) == (anything, anything)


def test_what_is_parked_is_kept_byte_by_byte_and_published_once_a_route_takes_it(
    pipeline: Pipeline, database: AsciiDatabase
) -> None:
    relay = start(pipeline, "native")
    insert(pipeline, payload=NO_TEXT, type="Zoë".encode())
    wait_until(lambda: len(database.read(PARKED)) == 1, timeout=60, what="it is parked")
    assert "bad_value" in dlq(relay, "list")
    assert "bad_value" in dlq(relay, "show", 1)
    assert relay.stop() == 0
    repaired = start(pipeline, "raw")
    dlq(repaired, "retry", "--all", "--yes")
    [record] = pipeline.wait_for_records(1)
    assert (record.key(), record.value()) == (b"k", NO_TEXT)


def test_json_that_is_no_text_is_parked_where_the_envelope_is_json(pipeline: Pipeline, database: AsciiDatabase) -> None:
    """SQL_ASCII lets jsonb hold it."""
    database.execute("ALTER TABLE outbox ALTER payload TYPE jsonb USING payload::jsonb")
    start(pipeline, "native")
    insert(pipeline, payload=b'{"a": "\xff"}')
    insert(pipeline, payload='{"a": "ä"}'.encode())
    [record] = pipeline.wait_for_records(1)
    assert '"payload":{"a": "ä"}'.encode() in (record.value() or b"")
    wait_until(lambda: len(database.read(PARKED)) == 1, timeout=60, what="the other is parked")
    assert database.read(PARKED)[0][0] == "bad_value"


def test_a_replay_publishes_bytes_that_are_no_text(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    insert(pipeline, aggregateid=NO_TEXT, payload=NO_TEXT)
    replay = make_relay(pipeline.as_owner(), "--yes", command="replay")
    assert replay.wait() == 0
    [record] = pipeline.wait_for_records(1)
    assert (record.key(), record.value()) == (NO_TEXT, NO_TEXT)
