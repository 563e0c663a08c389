"""From the SDK to the consumer, through a running relay: values, headers, times, and rows that are gone already."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message

from cdc_relay.outbox import Event, Outbox, emit, emit_many
from tests.fixtures.fix_relay import Pipeline
from tests.integration.producer_rig import sqlalchemy_url

pytestmark = pytest.mark.kafka

EXAMPLES = Path(__file__).parents[2] / "examples"
ADD_COLUMNS = "ALTER TABLE outbox ADD headers jsonb, ADD correlation_id text, ADD scheduled_at timestamptz"
LOT = "SELECT status, published_at >= scheduled_at FROM cdc_relay.parked_records"


@pytest.fixture
def running(pipeline: Pipeline) -> Pipeline:
    """A relay for the table and for messages, with all that an event may have."""
    pipeline.database.execute(ADD_COLUMNS)
    sources = ({"table": "public.outbox"}, {"message_prefix": "outbox"})
    pipeline.start_relay(outboxes=[source | read_all(pipeline.topic) for source in sources])
    return pipeline


def read_all(topic: str) -> dict[str, Any]:
    mapped = ("headers", "correlation_id", "scheduled_at")
    return {"columns": {name: name for name in mapped}, "routes": [{"topic": topic, "envelope": "native"}]}


def one(key: str = "k", **given: Any) -> Event:
    return Event(**{"aggregatetype": "order", "key": key, "type": "OrderPlaced", "payload": {}} | given)


def value(record: Message) -> dict[str, Any]:
    return dict(json.loads(record.value() or b""))


def keys(records: list[Message]) -> list[str]:
    return [(record.key() or b"").decode() for record in records]


@pytest.mark.core  # pg_logical_emit_message has one parameter more from 17 on
@pytest.mark.parametrize("outbox", [Outbox(), Outbox(message_prefix="outbox")], ids=["table", "messages"])
def test_a_consumer_gets_what_was_emitted_and_nothing_that_was_rolled_back(running: Pipeline, outbox: Outbox) -> None:
    event = one(
        "ключ",
        payload={"total": "99.90", "lines": [{"sku": 'a"\\', "n": 10**20}], "none": None},
        headers={"tenant": "acme", "version": 7, "empty": None},
        correlation_id="request-1",
    )
    with running.database.connect(autocommit=False) as conn:
        emit(conn, one("rolled back"), outbox=outbox)
        conn.rollback()
        emit(conn, event, outbox=outbox)
    [record] = running.wait_for_records(1)
    assert keys([record]) == ["ключ"]
    headers = dict(record.headers() or [])
    assert (headers["id"], headers["type"]) == (str(event.id).encode(), b"OrderPlaced")
    assert (headers["tenant"], headers["version"], headers["empty"]) == (b"acme", b"7", None)
    assert value(record)["payload"] == event.payload
    assert value(record)["correlation_id"] == "request-1"


@pytest.mark.parametrize("outbox", [Outbox(), Outbox(message_prefix="outbox")], ids=["table", "messages"])
def test_a_scheduled_event_waits_for_its_time(running: Pipeline, outbox: Outbox) -> None:
    later = datetime.now(UTC) + timedelta(seconds=3)
    with running.database.connect(autocommit=False) as conn:
        emit_many(conn, [one("later", scheduled_at=later), one("now")], outbox=outbox)
    assert keys(running.wait_for_records(2)) == ["now", "later"]
    assert [is_due for _, is_due in running.database.execute(LOT)] in ([True], [None])  # None: not yet marked published


def test_a_row_that_is_not_kept_arrives_all_the_same(running: Pipeline) -> None:
    with running.database.connect(autocommit=False) as conn:
        emit_many(conn, [one("a"), one("b")], outbox=Outbox(keep=False))
        emit(conn, one("c"))
    assert keys(running.wait_for_records(3)) == ["a", "b", "c"]
    assert running.database.execute("SELECT aggregateid FROM outbox") == [("c",)]


def test_many_events_of_one_transaction_arrive_in_their_order(running: Pipeline) -> None:
    with running.database.connect(autocommit=False) as conn:
        emit_many(conn, [one(payload={"n": number}) for number in range(1200)])
        emit_many(conn, [one(payload={"n": n}) for n in range(1200, 2400)], outbox=Outbox(message_prefix="outbox"))
    assert [value(record)["payload"]["n"] for record in running.wait_for_records(2400)] == list(range(2400))


def test_the_examples_run_and_their_events_arrive(running: Pipeline) -> None:
    database = running.database
    database.execute("CREATE TABLE orders (id text PRIMARY KEY, total numeric(12, 2) NOT NULL)")
    place = {
        "PGHOST": "127.0.0.1",
        "PGPORT": str(database.server.port),
        "PGUSER": "postgres",
        "PGDATABASE": database.name,
    }
    arguments = {"psycopg": database.dsn(), "sqlalchemy": sqlalchemy_url(database), "django": ""}
    examples = sorted(EXAMPLES.glob("*.py"))
    for example in examples:
        argument = arguments[example.name.partition("_")[0]]
        run = [sys.executable, str(example), *filter(None, [argument])]
        answer = subprocess.run(run, env=place, capture_output=True, text=True, check=False, timeout=60)
        assert answer.returncode == 0, answer.stderr
    orders = ["async-1", "django-1", "sqlalchemy-1", "sync-1"]
    assert database.execute("SELECT id FROM orders ORDER BY id") == [(each,) for each in orders]
    records = running.wait_for_records(len(examples))
    assert sorted(keys(records)) == orders
    assert {json.dumps(value(record)["payload"]["total"]) for record in records} == {'"99.90"'}
    sources = {dict(record.headers() or [])["source"] for record in records}
    assert sources == {b"psycopg", b"psycopg async", b"sqlalchemy", b"django"}
