"""Publication and outbox tables beyond what a start refuses, judged: operations, row filters, types. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdc_relay.admin.check.finding import Finding, ok, warn
from cdc_relay.config import quote_identifier
from cdc_relay.routing.router import Outbox
from cdc_relay.sources.catalog import TableFacts
from cdc_relay.sources.preflight import publish_whole
from cdc_relay.sources.remedy import sql, words

__all__ = ["judge_operations", "judge_table"]

_TEXTS = ("text", "character varying", "character", "name")
_WHOLE = ("smallint", "integer", "bigint")
_TIMES = ("timestamp with time zone", "timestamp without time zone")
_JSON = ("json", "jsonb")
# By part of an event: types that fit, and one that always does.
_FITTING = {
    "payload": ((*_JSON, *_TEXTS, "bytea", "xml"), "jsonb"),
    "key": ((*_TEXTS, *_WHOLE, "uuid", "bytea", "numeric"), "text"),
    "headers": ((*_JSON, *_TEXTS), "jsonb"),
    "scheduled_at": (_TIMES, "timestamptz"),
    "timestamp": ((*_TIMES, "bigint"), "timestamptz"),
    "partition": (_WHOLE, "integer"),
}


def judge_operations(publication: str, others: str) -> Finding:
    name = "postgres.publication.operations"
    if not others:
        return ok(name, "insert")
    found = f"publication {publication} publishes {others} too"
    return warn(name, found, sql(f"ALTER PUBLICATION {publication} SET (publish = 'insert')"))


def judge_table(outbox: Outbox, table: TableFacts, types: Mapping[str, str], *, publication: str) -> Iterator[Finding]:
    if table.row_filter:
        found = f"publication {publication} has {outbox.label} only WHERE {table.row_filter}"
        stop = words("a running relay stops when its publication changes: stop it before, start it after")
        yield warn("postgres.table.row_filter", found, stop, publish_whole(publication, outbox.label))
    odd = list(_odd_types(outbox, types))
    yield from odd
    if not odd:
        yield ok("postgres.table.types", f"{outbox.label}: {_shown(outbox, types)}")


def _odd_types(outbox: Outbox, types: Mapping[str, str]) -> Iterator[Finding]:
    for part, column in _parts(outbox).items():
        fitting, best = _FITTING[part]
        kind = types.get(column)
        if kind is None or kind in fitting:
            continue
        name = quote_identifier(column)
        change = f"ALTER TABLE {outbox.label} ALTER COLUMN {name} TYPE {best} USING {name}::text::{best}"
        other = words(f"or map another column: outboxes[].columns.{part}")
        yield warn("postgres.table.types", f"{outbox.label}: {part} is {name}, a {kind}", sql(change), other)


def _parts(outbox: Outbox) -> dict[str, str]:
    named = {
        "payload": outbox.payload_column,
        "key": outbox.key_column,
        "headers": outbox.headers_column,
        "scheduled_at": outbox.schedule_column,
        "timestamp": outbox.timestamp_column,
        "partition": outbox.partition_column,
    }
    return {part: column for part, column in named.items() if column is not None}


def _shown(outbox: Outbox, types: Mapping[str, str]) -> str:
    return ", ".join(f"{part} {types[column]}" for part, column in _parts(outbox).items() if column in types)
