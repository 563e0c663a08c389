"""What an operator reads of a record on its way: each try that failed, the end, and what a flood of them looks like."""

from __future__ import annotations

import json
import uuid
from datetime import datetime
from typing import Any

import pytest

from cdc_relay.native import is_native
from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess
from tests.fixtures.parked import logged, parked, wait_for_parked, wait_for_status
from tests.fixtures.planted import PAYLOAD
from tests.fixtures.process import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]

COLUMNS = {"id": "id", "key": "aggregateid", "type": "type", "payload": "payload"}
COLUMNS |= {"correlation_id": "correlation_id", "tenant": "tenant"}
OUTBOXES = [{"table": "public.outbox", "columns": COLUMNS}]
QUICK = {"base": "200ms", "max": "200ms", "jitter": 0, "max_retries": 2}
BIG = json.dumps({"note": PAYLOAD, "pad": "x" * 5000})
NAMES = ("event_id", "type", "correlation_id", "tenant", "outbox", "topic", "lsn")


@pytest.fixture
def traced(make_pipeline: MakePipeline) -> Pipeline:
    """Rows with a correlation id and a tenant, and a topic that refuses large ones."""
    pipeline = make_pipeline(topic_config={"max.message.bytes": "1000"})
    pipeline.database.execute("ALTER TABLE outbox ADD correlation_id text, ADD tenant text")
    return pipeline


def insert(pipeline: Pipeline, *, payload: str, correlation_id: str = "c-42") -> str:
    event_id = str(uuid.uuid4())
    pipeline.database.execute(
        "INSERT INTO outbox VALUES (%s, %s, 'k', 'OrderPlaced', %s, %s, 'acme')",
        [event_id, pipeline.aggregate_type, payload, correlation_id],
    )
    return event_id


def lines_of(relay: RelayProcess, event: str, count: int) -> list[dict[str, Any]]:
    wait_until(lambda: len(logged(relay, event)) >= count, timeout=60, what=f"{count} lines {event}")
    return logged(relay, event)


def commit_lsn(pipeline: Pipeline) -> str:
    [(lsn,)] = parked(pipeline.database, "commit_lsn::text")
    return str(lsn)


def test_a_record_that_fails_is_a_line_per_try_and_one_for_its_end(traced: Pipeline) -> None:
    relay = traced.start_relay("--log-level", "debug", outboxes=OUTBOXES, delivery={"retry": QUICK})
    event_id = insert(traced, payload=BIG)
    wait_for_status(traced.database, ["dead"])
    [failed] = lines_of(relay, "outbox_failed", 1)
    retries = logged(relay, "outbox_retry")
    named = [event_id, "OrderPlaced", "c-42", "acme", "public.outbox", traced.topic, commit_lsn(traced)]
    assert [[line[name] for name in NAMES] for line in (*retries, failed)] == [named] * 3
    assert [(line["attempt"], line["max_attempts"]) for line in (*retries, failed)] == [(0, 2), (1, 2), (2, 2)]
    assert [line["level"] for line in (*retries, failed)] == ["warning", "warning", "error"]
    assert {line["code"] for line in (*retries, failed)} == {"MSG_SIZE_TOO_LARGE"}
    assert all(line["reason"] and line["remedy"] for line in (*retries, failed))
    assert all(datetime.fromisoformat(line["next_try_at"]) for line in retries)
    assert "next_try_at" not in failed


def test_a_record_is_a_line_at_debug_when_it_starts_and_when_it_is_acknowledged(traced: Pipeline) -> None:
    relay = traced.start_relay("--log-level", "debug", outboxes=OUTBOXES)
    event_id = insert(traced, payload=json.dumps({"note": PAYLOAD}))
    [success] = lines_of(relay, "outbox_success", 1)
    [start] = logged(relay, "outbox_start")
    named = [event_id, "OrderPlaced", "c-42", "acme", "public.outbox", traced.topic]
    assert [[line[name] for name in NAMES[:-1]] for line in (start, success)] == [named, named]
    assert start["lsn"] == success["lsn"]
    assert [(line["level"], line["attempt"]) for line in (start, success)] == [("debug", 0), ("debug", 0)]


def test_the_first_line_says_what_starts_and_every_line_names_service_and_slot(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay(service="orders")
    assert relay.stop() == 0
    lines = [json.loads(line) for line in relay.stderr.splitlines()]
    assert [lines[0][name] for name in ("event", "outboxes", "sink")] == ["relay_start", ["public.outbox"], "kafka"]
    assert lines[0]["version"]
    assert lines[0]["native"] is is_native
    assert {(line["service"], line["slot"]) for line in lines} == {("orders", pipeline.slot)}
    assert {tuple(line)[:5] for line in lines} == {("timestamp", "level", "event", "service", "slot")}


def test_a_flood_of_bad_rows_is_a_few_lines_that_count_them_all(pipeline: Pipeline) -> None:
    nowhere = [{"table": "public.outbox", "routes": [{"when": {"aggregatetype": "other"}, "topic": pipeline.topic}]}]
    relay = pipeline.start_relay(outboxes=nowhere)
    pipeline.database.execute(
        "INSERT INTO outbox SELECT gen_random_uuid(), 'nobody', 'k', 'T', jsonb_build_object('note', %s::text)"
        " FROM generate_series(1, 3000)",
        [PAYLOAD],
    )
    wait_for_parked(pipeline.database, 3000)
    assert relay.stop() == 0
    lines = logged(relay, "outbox_failed")
    assert len(lines) <= 5
    assert sum(1 + line.get("repeated", 0) for line in lines) == 3000
    assert logged(relay, "outbox_success") == []
