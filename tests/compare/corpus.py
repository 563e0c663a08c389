"""The corpus: rows that an outbox may hold, under the settings that users of Debezium's router have.

Corner cases are here on purpose, also those that stop Debezium: what we do instead must be a choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.compare.case import BINARY, JSON, STRING, Case, Row
from tests.compare.corpus_fields import FIELD_CASES
from tests.compare.corpus_payloads import EXPANDED_PAYLOADS, JSON_PAYLOADS, KEYS, TEXTS, VERBATIM_PAYLOADS

__all__ = ["CASES", "find_case"]

TOMBSTONE = {"route.tombstone.on.empty.payload": "true"}
EXPAND = {"table.expand.json.payload": "true"}


def _payloads(values: Mapping[str, str | None]) -> dict[str, Row]:
    return {name: {"payload": value} for name, value in values.items()}


def _debezium(**options: Any) -> dict[str, Any]:
    return {"envelope": {"debezium": options}}


PAYLOAD_CASES = (
    Case("default_settings", {**_payloads(JSON_PAYLOADS), **KEYS}),
    Case("json_payload", _payloads(VERBATIM_PAYLOADS), columns={"payload": "json"}),
    Case("text_payload", _payloads(TEXTS), columns={"payload": "text"}),
    Case(
        "bytea_payload",
        _payloads({"bytes": "\\xdeadbeef00ff", "text": "\\x7b7d", "empty": "\\x", "null": None}),
        connector=BINARY,
        columns={"payload": "bytea"},
    ),
    Case(
        "bytea_as_string",
        _payloads({"bytes": "\\xdeadbeef00ff"}),
        columns={"payload": "bytea"},
    ),
    Case(
        "bytea_byte_array",
        _payloads({"bytes": "\\xdeadbeef00ff"}),
        connector={"value.converter": "io.debezium.converters.ByteArrayConverter"},
        columns={"payload": "bytea"},
    ),
    Case(
        "bytea_connect_byte_array",
        _payloads({"bytes": "\\xdeadbeef00ff", "empty": "\\x", "null": None}),
        connector={"value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter"},
        columns={"payload": "bytea"},
    ),
    Case(
        "extended_headers",
        _payloads({"plain": "{}"}),
        connector={**STRING, "extended.headers.enabled": "true"},  # its default; off in all the others
    ),
)
EXPANSION_CASES = (
    Case(
        "expand_json",
        _payloads({**JSON_PAYLOADS, **EXPANDED_PAYLOADS}),
        router=EXPAND,
        connector=JSON,
        route=_debezium(expand_json=True),
    ),
    Case(
        "expand_json_with_nulls",
        _payloads({name: EXPANDED_PAYLOADS[name] for name in ("null_member", "only_null_member", "null_in_array")}),
        router={**EXPAND, "table.json.payload.null.behavior": "optional_bytes"},
        connector=JSON,
        route=_debezium(expand_json=True),
    ),
    Case(
        "expand_json_verbatim",
        _payloads(VERBATIM_PAYLOADS),
        router=EXPAND,
        connector=JSON,
        columns={"payload": "json"},
        route=_debezium(expand_json=True),
    ),
    Case(
        "expand_json_text",
        _payloads(TEXTS),
        router=EXPAND,
        connector=JSON,
        columns={"payload": "text"},
        route=_debezium(expand_json=True),
    ),
)
TOMBSTONE_CASES = (
    Case(
        "tombstone_text",
        _payloads(TEXTS),
        router=TOMBSTONE,
        columns={"payload": "text"},
        route=_debezium(tombstone_on_empty=True),
    ),
    Case(
        "tombstone_jsonb",
        _payloads({"null": None, "json_null": "null", "empty_object": "{}", "empty_text": '""'}),
        router=TOMBSTONE,
        route=_debezium(tombstone_on_empty=True),
    ),
    Case(
        "tombstone_bytea",
        _payloads({"null": None, "empty": "\\x", "blank": "\\x20", "bytes": "\\x00"}),
        router=TOMBSTONE,
        connector=BINARY,
        columns={"payload": "bytea"},
        route=_debezium(tombstone_on_empty=True),
    ),
    Case(
        "tombstone_expanded",
        _payloads({"null": None, "json_null": "null", "empty_object": "{}", "plain": '{"a": 1}'}),
        router={**EXPAND, **TOMBSTONE},
        connector=JSON,
        route=_debezium(expand_json=True, tombstone_on_empty=True),
    ),
)
PLACE_CASES = (
    Case(
        "event_timestamp",
        {
            "micros": {"payload": "{}", "occurred_at": "2026-01-02 03:04:05.678999"},
            "whole": {"payload": "{}", "occurred_at": "2026-01-02 03:04:05"},
            "epoch": {"payload": "{}", "occurred_at": "1970-01-01"},
            "before_1970": {"payload": "{}", "occurred_at": "1969-12-31 23:59:59.5"},
            "null": {"payload": "{}", "occurred_at": None},
        },
        router={"table.field.event.timestamp": "occurred_at"},
        columns={"occurred_at": "timestamp"},
        route={"timestamp": "{occurred_at}"},
        is_stamped=True,
    ),
    Case(
        "event_timestamp_millis",
        {"millis": {"payload": "{}", "occurred_at": "2026-01-02 03:04:05.678"}},
        router={"table.field.event.timestamp": "occurred_at"},
        columns={"occurred_at": "timestamp(3)"},
        route={"timestamp": "{occurred_at}"},
        is_stamped=True,
    ),
    Case(
        "event_timestamp_zoned",
        {"zoned": {"payload": "{}", "occurred_at": "2026-01-02 05:04:05.678999+02"}},
        router={"table.field.event.timestamp": "occurred_at"},
        columns={"occurred_at": "timestamptz"},
        route={"timestamp": "{occurred_at}"},
        is_stamped=True,
    ),
    Case(
        "partition",
        {
            "first": {"payload": "{}", "part": "0"},
            "last": {"payload": "{}", "part": "3"},
            "null": {"payload": "{}", "part": None},
            "null_key": {"payload": "{}", "part": "2", "aggregateid": None},
            "negative": {"payload": "{}", "part": "-1"},
        },
        router={"table.fields.additional.placement": "part:partition"},
        columns={"part": "int"},
        route={"partition": "{part}"},
        is_placed=True,
    ),
    Case(
        "partition_smallint",
        {"last": {"payload": "{}", "part": "3"}},
        router={"table.fields.additional.placement": "part:partition"},
        columns={"part": "smallint"},
        route={"partition": "{part}"},
        is_placed=True,
    ),
)
NAME_CASES = (
    Case(
        "other_names",
        {"plain": {"customer": "c-1", "stream": "billing", "body": "{}"}},
        router={
            "table.field.event.id": "event_id",
            "table.field.event.key": "customer",
            "table.field.event.payload": "body",
            "route.by.field": "stream",
            "route.topic.replacement": "events.${routedByValue}.v1",
        },
        columns={
            **dict.fromkeys(("id", "aggregatetype", "aggregateid", "payload"), ""),
            "event_id": "uuid PRIMARY KEY",
            "customer": "text",
            "stream": "text",
            "body": "jsonb",
        },
        mapping={"id": "event_id", "key": "customer", "payload": "body"},
        route={"topic": "events.{stream}.v1"},
        topic="events.billing.v1",
    ),
    Case(
        "bigint_key",
        {
            "positive": {"payload": "{}", "order_id": "9223372036854775807"},
            "negative": {"payload": "{}", "order_id": "-5"},
            "null": {"payload": "{}", "order_id": None},
        },
        router={"table.field.event.key": "order_id"},
        columns={"order_id": "bigint"},
        mapping={"key": "order_id"},
    ),
    Case(
        "uuid_key",
        {"uuid": {"payload": "{}", "order_id": "C0FFEE00-0000-4000-8000-000000000001"}},
        router={"table.field.event.key": "order_id"},
        columns={"order_id": "uuid"},
        mapping={"key": "order_id"},
    ),
    Case(
        "unroutable",
        {
            "null_aggregate_type": {"payload": "{}", "aggregatetype": None},
            "illegal_topic": {"payload": "{}", "aggregatetype": "order placed"},
        },
    ),
)
CASES: tuple[Case, ...] = (
    *PAYLOAD_CASES,
    *EXPANSION_CASES,
    *TOMBSTONE_CASES,
    *PLACE_CASES,
    *NAME_CASES,
    *FIELD_CASES,
)


def find_case(name: str) -> Case:
    return next(case for case in CASES if case.name == name)
