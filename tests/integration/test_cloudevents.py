"""CloudEvents from commit to consumer: what the official SDK reads from the topic is what was inserted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cloudevents.core.base import BaseCloudEvent
from cloudevents.core.bindings.kafka import KafkaMessage, from_kafka
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from confluent_kafka import Message

from tests.fixtures.fix_relay import MakePipeline, Pipeline

pytestmark = [pytest.mark.kafka, pytest.mark.core]

MODES = pytest.mark.parametrize("mode", ["binary", "structured"])
COLUMNS = {
    "timestamp": "occurred_at",
    "correlation_id": "correlation",
    "causation_id": "causation",
    "tenant": "tenant",
    "schema_version": "version",
}
ADDED = "ADD occurred_at timestamptz, ADD correlation text, ADD causation text, ADD tenant text, ADD version int"
JSON_DATA = [
    '{"n": 1.5, "ü": "😀", "nested": [1, {"a": null}], "quoted": "\\" \\\\ \\u0001"}',
    "[]",
    '"a string"',
    "123456789012345678901234567890",
    "true",
    "null",
]
TEXT_DATA = ["plain", '{"looks": "like JSON"}', 'ümläut 😀 \n\t"\\', "null", "100%", " "]
BYTES_DATA = [bytes(range(256)), b"\xff", b"\x00\xfe"]
PAYLOADS: dict[str, list[Any]] = {"jsonb": JSON_DATA, "json": JSON_DATA, "text": TEXT_DATA, "bytea": BYTES_DATA}
MEDIA_TYPES = {
    "jsonb": "application/json",
    "json": "application/json",
    "text": "text/plain; charset=utf-8",
    "bytea": "application/octet-stream",
}
# In HTTP some of these would be percent-encoded; in Kafka's headers they are UTF-8.
SIGNS = [
    "plain",
    "Zoë",
    "日本語 😀",
    "100%",
    "%41%zz",
    'a "b" c',
    "a,b;c=d",
    "back\\slash",
    "e\u0301",
    "\u202eright to left",
]


def start(pipeline: Pipeline, mode: str, **options: str) -> None:
    pipeline.database.execute(f"ALTER TABLE {pipeline.table} {ADDED}, ALTER id TYPE text")
    envelope = {"cloudevents": {"mode": mode, "subject": "aggregateid", **options}}
    routes = [{"topic": pipeline.topic, "envelope": envelope}]
    pipeline.start_relay(outboxes=[{"table": pipeline.table, "columns": COLUMNS, "routes": routes}])


def insert(pipeline: Pipeline, rows: Iterable[dict[str, Any]]) -> None:
    """In one transaction; what a row does not say is as usual."""
    table = pipeline.table.replace("%", "%%")
    with pipeline.database.connect(autocommit=False) as conn:
        for number, row in enumerate(rows):
            usual = {"id": f"e{number}", "aggregatetype": "t", "aggregateid": "k", "type": "Placed"}
            given = usual | row
            marks = ", ".join(["%s"] * len(given))
            conn.execute(f"INSERT INTO {table} ({', '.join(given)}) VALUES ({marks})", list(given.values()))


def consume(record: Message) -> BaseCloudEvent:
    """As a consumer with the SDK does; it validates what it reads, and knows no null value."""
    headers = {name: value for name, value in dict(record.headers() or []).items() if isinstance(value, bytes)}
    return from_kafka(KafkaMessage(headers, record.key(), record.value() or b""), JSONFormat(), CloudEvent)


def events(pipeline: Pipeline, count: int) -> list[BaseCloudEvent]:
    return [consume(record) for record in pipeline.wait_for_records(count)]


@MODES
@pytest.mark.parametrize("payload_type", PAYLOADS)
def test_data_are_what_was_inserted(make_pipeline: MakePipeline, mode: str, payload_type: str) -> None:
    pipeline = make_pipeline(payload_type=payload_type)
    start(pipeline, mode)
    inserted = PAYLOADS[payload_type]
    insert(pipeline, [{"payload": payload} for payload in inserted])
    read = events(pipeline, len(inserted))
    expected = [json.loads(each) for each in inserted] if "json" in payload_type else inserted
    assert [event.get_data() for event in read] == expected
    assert {event.get_datacontenttype() for event in read} == {MEDIA_TYPES[payload_type]}


@MODES
@pytest.mark.parametrize("payload_type", ["jsonb", "text", "bytea"])
def test_a_null_payload_is_an_event_without_data(make_pipeline: MakePipeline, mode: str, payload_type: str) -> None:
    pipeline = make_pipeline(payload_type=payload_type)
    start(pipeline, mode)
    insert(pipeline, [{"payload": None}])
    [record] = pipeline.wait_for_records(1)
    assert (record.value() is None) == (mode == "binary")
    event = consume(record)
    assert (event.get_id(), event.get_data(), event.get_datacontenttype()) == ("e0", None, None)


@MODES
def test_every_attribute_is_what_was_inserted(pipeline: Pipeline, mode: str) -> None:
    start(pipeline, mode)
    row = {"correlation": "c1", "causation": "c0", "tenant": "acme", "version": 7, "payload": "{}"}
    occurred_at = datetime(2026, 1, 2, 3, 4, 5, 123_456, UTC)
    insert(pipeline, [{}, row | {"occurred_at": occurred_at, "aggregateid": "order-17"}])
    attributes = events(pipeline, 2)[1].get_attributes()
    sequence = attributes.pop("sequence")
    assert attributes == {
        "specversion": "1.0",
        "id": "e1",
        "source": "/cdc-relay/public.outbox",
        "type": "Placed",
        "subject": "order-17",
        "time": occurred_at,
        "datacontenttype": "application/json",
        "correlationid": "c1",
        "causationid": "c0",
        "tenant": "acme",
        "schemaversion": "7",
        "partitionkey": "order-17",
    }
    assert sequence.endswith("-00000001")


@MODES
def test_attributes_hold_any_sign_as_it_is(pipeline: Pipeline, mode: str) -> None:
    start(pipeline, mode)
    named = ("id", "type", "aggregateid", "tenant", "correlation")
    insert(pipeline, [dict.fromkeys(named, text) | {"payload": "{}"} for text in SIGNS])
    told = ("id", "type", "subject", "tenant", "correlationid", "partitionkey")
    read = [event.get_attributes() for event in events(pipeline, len(SIGNS))]
    assert [[attributes[name] for name in told] for attributes in read] == [[text] * len(told) for text in SIGNS]


@MODES
def test_without_a_timestamp_the_time_is_that_of_the_commit(pipeline: Pipeline, mode: str) -> None:
    """Which is also the record's."""
    start(pipeline, mode)
    insert(pipeline, [{"payload": "{}"}])
    [record] = pipeline.wait_for_records(1)
    time = consume(record).get_time()
    assert time is not None
    assert (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1) == record.timestamp()[1]


@MODES
def test_a_source_is_a_uri_reference_whatever_the_table_is_called(make_pipeline: MakePipeline, mode: str) -> None:
    pipeline = make_pipeline(table='public."Größe 1%?"')
    start(pipeline, mode)
    insert(pipeline, [{"payload": "{}"}])
    [event] = events(pipeline, 1)
    assert event.get_source() == "/cdc-relay/public.%22Gr%C3%B6%C3%9Fe%201%25%3F%22"


@MODES
def test_a_source_and_a_content_type_are_as_configured(make_pipeline: MakePipeline, mode: str) -> None:
    pipeline = make_pipeline(payload_type="text")
    start(pipeline, mode, source="https://shop.example/orders?a=%20", content_type="application/vnd.shop+json")
    insert(pipeline, [{"payload": '{"n": 1}'}])
    [event] = events(pipeline, 1)
    assert event.get_source() == "https://shop.example/orders?a=%20"
    assert (event.get_datacontenttype(), event.get_data()) == ("application/vnd.shop+json", {"n": 1})
