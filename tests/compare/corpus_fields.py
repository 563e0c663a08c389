"""The corpus's additional fields: columns of many types, placed in headers and in the envelope."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.compare.case import JSON, Case
from tests.compare.corpus_types import MORE, MORE_SETUP, MORE_TYPES, TYPE_ROWS, TYPES

__all__ = ["FIELD_CASES"]


def _placement(columns: Iterable[str], place: str, *, alias: str = "") -> str:
    return ",".join(f"{column}:{place}" + (f":{alias}{column}" if alias else "") for column in columns)


def _fields(columns: Iterable[str], place: str, *, alias: str = "") -> list[dict[str, str]]:
    plain = [{"column": column, "placement": place} for column in columns]
    return [{**given, "alias": alias + given["column"]} for given in plain] if alias else plain


def _debezium(**options: Any) -> dict[str, Any]:
    return {"envelope": {"debezium": options}}


EVENT_TYPE = [{"column": "type", "placement": "envelope", "alias": "eventType"}]

FIELD_CASES = (
    Case(
        "fields_in_headers",
        TYPE_ROWS,
        router={"table.fields.additional.placement": _placement(TYPES, "header")},
        columns=TYPES,
        route=_debezium(fields=_fields(TYPES, "header")),
    ),
    Case(
        "fields_in_envelope",
        TYPE_ROWS,
        router={"table.fields.additional.placement": _placement(TYPES, "envelope", alias="its_")},
        connector=JSON,
        columns=TYPES,
        route=_debezium(fields=_fields(TYPES, "envelope", alias="its_")),
    ),
    Case(
        "more_types_in_headers",
        {"usual": MORE},
        router={"table.fields.additional.placement": _placement(MORE_TYPES, "header")},
        columns=MORE_TYPES,
        setup=MORE_SETUP,
        route=_debezium(fields=_fields(MORE_TYPES, "header")),
    ),
    Case(
        "more_types_in_envelope",
        {"usual": MORE},
        router={"table.fields.additional.placement": _placement(MORE_TYPES, "envelope")},
        connector=JSON,
        columns=MORE_TYPES,
        route=_debezium(fields=_fields(MORE_TYPES, "envelope")),
    ),
    Case(
        "unknown_type",
        {"words": {"payload": "{}", "words": "a fat cat"}},
        router={"table.fields.additional.placement": "words:header"},
        columns={"words": "tsvector"},
        route=_debezium(fields=_fields(["words"], "header")),
    ),
    Case(
        "fields_in_both",
        {
            "usual": {"payload": '{"a": 1}', "tenant": "acme", "rev": "3"},
            "nulls": {"payload": None, "tenant": None, "rev": None},
        },
        router={
            "table.fields.additional.placement": "type:header:eventType,tenant:envelope,type:envelope:kind,rev:header"
        },
        connector=JSON,
        columns={"tenant": "text", "rev": "int"},
        route=_debezium(
            fields=[
                {"column": "type", "placement": "header", "alias": "eventType"},
                {"column": "tenant", "placement": "envelope"},
                {"column": "type", "placement": "envelope", "alias": "kind"},
                {"column": "rev", "placement": "header"},
            ]
        ),
    ),
    Case(
        "envelope_of_other_name",
        {"usual": {"body": '{"a": 1}'}},
        router={
            "table.field.event.payload": "body",
            "table.fields.additional.placement": "type:envelope:eventType",
        },
        connector=JSON,
        columns={"payload": "", "body": "jsonb"},
        mapping={"payload": "body"},
        route=_debezium(fields=EVENT_TYPE),
    ),
    Case(
        "envelope_of_bytea",
        {"bytes": {"payload": "\\xdeadbeef00ff"}, "empty": {"payload": "\\x"}, "null": {"payload": None}},
        router={"table.fields.additional.placement": "type:envelope:eventType"},
        connector=JSON,
        columns={"payload": "bytea"},
        route=_debezium(fields=EVENT_TYPE),
    ),
    Case(
        "envelope_of_text",
        {"text": {"payload": 'one\n"two" Zoë 🚀'}, "empty": {"payload": ""}, "null": {"payload": None}},
        router={"table.fields.additional.placement": "type:envelope:eventType"},
        connector=JSON,
        columns={"payload": "text"},
        route=_debezium(fields=EVENT_TYPE),
    ),
    Case(
        "envelope_expanded",
        {
            "object": {"payload": '{"b": 1, "a": {"c": [1, 2]}}'},
            "null_member": {"payload": '{"a": null, "b": 1}'},
            "array": {"payload": "[1, 2]"},
            "number": {"payload": "42"},
            "mixed_array": {"payload": '{"a": [1, "x"]}'},
            "null": {"payload": None},
        },
        router={
            "table.expand.json.payload": "true",
            "table.fields.additional.placement": "type:envelope:eventType",
        },
        connector=JSON,
        route=_debezium(expand_json=True, fields=EVENT_TYPE),
    ),
    Case(
        "tombstone_in_envelope",
        {"null": {"payload": None}, "empty": {"payload": ""}, "blank": {"payload": " \n"}, "text": {"payload": "x"}},
        router={
            "route.tombstone.on.empty.payload": "true",
            "table.fields.additional.placement": "type:envelope:eventType,type:header",
        },
        connector=JSON,
        columns={"payload": "text"},
        route=_debezium(tombstone_on_empty=True, fields=[*EVENT_TYPE, {"column": "type", "placement": "header"}]),
    ),
)
