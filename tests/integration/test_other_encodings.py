"""A database in another encoding than UTF-8: its texts arrive as UTF-8, and what has none is refused, not retried."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fixtures.fix_kafka import Kafka
from tests.fixtures.fix_postgres import Database, PostgresServer
from tests.fixtures.fix_relay import MakeRelay, Pipeline

pytestmark = [pytest.mark.kafka, pytest.mark.core]


class WesternDatabase(Database):
    def __init__(self, server: PostgresServer) -> None:
        super().__init__(server)
        server.execute(f"DROP DATABASE {self.name}")
        server.execute(f"CREATE DATABASE {self.name} ENCODING 'WIN1252' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")


@pytest.fixture
def pipeline(postgres: PostgresServer, kafka: Kafka, make_relay: MakeRelay) -> Iterator[Pipeline]:
    database = WesternDatabase(postgres)
    yield Pipeline(database, kafka, make_relay, payload_type="text")
    database.drop()


def insert(pipeline: Pipeline, payload: bytes) -> None:
    """Bytes of the database's own encoding."""
    text = "".join(f"\\x{byte:02x}" for byte in payload)
    pipeline.database.execute(
        "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)"
        f" VALUES (gen_random_uuid(), '{pipeline.aggregate_type}', 'k', 'T', E'{text}')"
    )


def test_a_text_arrives_as_utf_8(pipeline: Pipeline) -> None:
    pipeline.start_relay()
    insert(pipeline, "Grüße für 5 €".encode("cp1252"))
    [record] = pipeline.wait_for_records(1)
    assert record.value() == "Grüße für 5 €".encode()


def test_a_byte_that_has_no_utf_8_ends_the_relay_with_what_to_do(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay()
    insert(pipeline, b"good")
    pipeline.wait_for_records(1)
    insert(pipeline, b"\x81")
    assert relay.wait() == 3
    assert "Postgres cannot send a row as UTF-8" in relay.stderr
    assert "pg_replication_slot_advance" in relay.stderr
