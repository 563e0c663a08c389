"""Rows and messages that nobody should write, on real servers: each is published or parked with a reason, and the
relay goes on."""

from __future__ import annotations

import json
import random
import uuid
from copy import deepcopy
from typing import Any

import pytest

from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess
from tests.fixtures.numbered import dlq
from tests.fixtures.process import wait_until

pytestmark = pytest.mark.kafka

ENVELOPES = pytest.mark.parametrize(
    "envelope",
    ["debezium", "native", "cloudevents", {"cloudevents": "structured"}, "raw", {"debezium": {"expand_json": True}}],
    ids=str,
)
HOSTILE: list[str | None] = [
    *(
        "",
        ".",
        "..",
        "a" * 250,
        "a/b",
        "ä",
        "\u202e",
        "{}",
        "[]",
        "null",
        '{"a": NaN}',
        '"\\ud800"',
        "1e999",
        "9" * 400,
    ),
    *("x" * 100_000, "2026-13-45", "infinity", "-1", "\\xzz", "0" * 11 + "9" * 12, "9999999999999999", "2147483647"),
    *('{"a\\u0000b": 1}', '{"": "\\u0000"}', '{"ä": {"b": [1]}}', "294276-12-31 23:59:59+00", "0", None),
]
MANY = 1 << 20
HUGE = {
    "text": "x" * (3 * MANY),
    "number": "9" * (2 * MANY),
    "nested arrays": "[" * MANY + "]" * MANY,
    "nested objects": '{"a":' * (MANY // 4) + "1" + "}" * (MANY // 4),
    "many fields": json.dumps({f"k{number}": number for number in range(20_000)}),
}
NAMES = ("aggregatetype", "aggregateid", "type", "payload", "part", "at", "extra")
COLUMNS = {"partition": "part", "timestamp": "at", "headers": "extra", "tenant": "aggregatetype"}
UNEXPLAINED = "SELECT id FROM cdc_relay.parked_records WHERE error_code IS NULL OR last_error = '' OR remedy = ''"


def routes(pipeline: Pipeline, envelope: object) -> list[dict[str, Any]]:
    """For whatever a row has: templates, a fixed topic, a topic by the row."""
    placed = {"when": {"type": "a*"}, "topic": "t.{payload.a}.{type}", "key": "{aggregateid}/{extra}"}
    fixed = {"when": {"type": {"not": ["", None]}}, "topic": pipeline.topic, "headers": {"x": "{payload.a}-{extra}"}}
    return [route | {"envelope": deepcopy(envelope)} for route in (placed, fixed, {"topic": "{type}"})]


def start(pipeline: Pipeline, envelope: object, **outbox: str) -> RelayProcess:
    section = {**outbox, "columns": COLUMNS, "routes": routes(pipeline, envelope)}
    return pipeline.start_relay(outboxes=[section], delivery={"retry": {"base": "10m", "max": "10m"}})


def settled_count(pipeline: Pipeline, relay: RelayProcess) -> int:
    [(parked,)] = pipeline.database.execute("SELECT count(*) FROM cdc_relay.parked_records")
    return int(parked) + int(relay.metric("outbox_published_total"))


def assert_all_settled(pipeline: Pipeline, relay: RelayProcess, count: int) -> None:
    wait_until(lambda: settled_count(pipeline, relay) >= count, timeout=120, what="each is published or parked")
    assert settled_count(pipeline, relay) == count
    assert pipeline.database.execute(UNEXPLAINED) == []
    assert relay.is_running
    assert relay.stop() == 0


@pytest.fixture
def pipeline(make_pipeline: MakePipeline) -> Pipeline:
    made = make_pipeline(payload_type="text")
    made.database.execute(
        "ALTER TABLE outbox ALTER aggregatetype DROP NOT NULL, ADD part text, ADD at text, ADD extra text"
    )
    return made


def insert(pipeline: Pipeline, *rows: list[str | None]) -> None:
    with pipeline.database.connect() as conn:
        for row in rows:
            marks = ", ".join(["%s"] * (1 + len(NAMES)))
            conn.execute(f"INSERT INTO outbox (id, {', '.join(NAMES)}) VALUES ({marks})", [uuid.uuid4(), *row])


@ENVELOPES
def test_every_hostile_row_is_published_or_parked(pipeline: Pipeline, envelope: object) -> None:
    rng = random.Random(str(envelope))
    relay = start(pipeline, envelope, table="outbox")
    insert(pipeline, *([rng.choice(HOSTILE) for _ in NAMES] for _ in range(200)))
    assert_all_settled(pipeline, relay, 200)


@ENVELOPES
def test_so_is_every_sound_row_with_one_hostile_value(pipeline: Pipeline, envelope: object) -> None:
    """Where all values are hostile, the first one hides the others."""
    relay = start(pipeline, envelope, table="outbox")
    rows = [sound_row(name, value) for name in NAMES for value in HOSTILE]
    insert(pipeline, *rows)
    assert_all_settled(pipeline, relay, len(rows))


@pytest.mark.parametrize("envelope", ["debezium", "native", "cloudevents"])
def test_so_is_every_row_with_megabytes(pipeline: Pipeline, envelope: str) -> None:
    relay = start(pipeline, envelope, table="outbox")
    rows = [sound_row(name, value) for name in NAMES for value in HUGE.values()]
    insert(pipeline, *rows)
    assert_all_settled(pipeline, relay, len(rows))


def sound_row(name: str, value: str | None) -> list[str | None]:
    row: dict[str, str | None] = {"aggregatetype": "t", "aggregateid": "k", "type": "T", "payload": '{"a": "b"}'}
    return list((row | {"part": "0", "at": "1700000000000", "extra": '{"h": "x"}'} | {name: value}).values())


@ENVELOPES
def test_so_is_every_message(pipeline: Pipeline, envelope: object) -> None:
    relay = start(pipeline, envelope, message_prefix="outbox")
    contents = [content(name, value) for name in ("id", *NAMES) for value in HOSTILE]
    with pipeline.database.connect() as conn:
        for number, each in enumerate(contents):
            conn.execute("SELECT pg_logical_emit_message(%s, 'outbox', %s)", [number % 2 == 0, each])
    assert_all_settled(pipeline, relay, len(contents))


def content(name: str, value: str | None) -> str:
    """The hostile value as JSON where it is that, else as a string."""
    fields = {"id": '"e1"', **dict(zip(NAMES, map(json.dumps, sound_row("type", "T")), strict=True)), name: "null"}
    if value is not None:
        fields[name] = value if value[:1] in ("{", "[", '"') else json.dumps(value)
    return "{" + ", ".join(f'"{field}": {text}' for field, text in fields.items()) + "}"


@pytest.mark.parametrize("transactional", [True, False])
def test_so_are_messages_of_megabytes(pipeline: Pipeline, transactional: bool) -> None:
    relay = start(pipeline, "native", message_prefix="outbox")
    contents = [*HUGE.values(), *(content("payload", json.dumps(value)) for value in HUGE.values())]
    with pipeline.database.connect() as conn:
        for each in contents:
            conn.execute("SELECT pg_logical_emit_message(%s, 'outbox', %s)", [transactional, each])
    assert_all_settled(pipeline, relay, len(contents))


def test_a_header_name_with_nul_is_parked_with_the_whole_row(pipeline: Pipeline) -> None:
    relay = start(pipeline, "debezium", table="outbox")
    insert(pipeline, sound_row("extra", '{"a\\u0000b": 1}'), sound_row("extra", '{"good": 1}'))
    [record] = pipeline.wait_for_records(1)
    assert ("good", b"1") in (record.headers() or [])
    assert_all_settled(pipeline, relay, 2)
    [(code, columns)] = pipeline.database.execute("SELECT error_code, columns FROM cdc_relay.parked_records")
    assert code == "bad_headers"
    assert {"name": "extra", "type": 25, "value": '{"a\\u0000b": 1}'} in columns
    assert "bad_headers" in dlq(relay, "list")
