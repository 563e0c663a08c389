"""Why a row cannot become a record, and what an operator can do: every failure of routing.

Never a row's values, but for those that were to decide the route.
"""

from __future__ import annotations

from collections.abc import Iterable

from cdc_relay.model import ErrorClass, Failure
from cdc_relay.routing.fields import Field
from cdc_relay.routing.json_depth import DEEPEST_LEVELS
from cdc_relay.routing.json_text import LONGEST_BYTES
from cdc_relay.routing.topics import LONGEST_TOPIC

__all__ = [
    "bad_attribute",
    "bad_bytea",
    "bad_event_time",
    "bad_headers",
    "bad_json",
    "bad_key",
    "bad_message",
    "bad_partition",
    "bad_schedule",
    "bad_timestamp",
    "bad_value",
    "huge_json",
    "illegal_topic",
    "missing_attribute",
    "missing_columns",
    "no_route",
    "null_in_key",
    "null_in_topic",
    "null_key",
    "spoiled_json",
    "unknown_outbox",
]

_LONGEST_SHOWN = 100


def no_route(label: str, asked: Iterable[tuple[Field, bytes | None]]) -> Failure:
    """`asked`: what the routes look at, and what the row has there; never of the payload."""
    values = ", ".join(f"{field}={_show(value)}" for field, value in asked)
    return _permanent(
        "no_route",
        f"no route of {label} matches the row" + (f": it has {values}" if values else ""),
        "add a route under outboxes[].routes (one without `when` takes the rest), restart the relay, then retry",
    )


def null_in_topic(fields: Iterable[Field]) -> Failure:
    names = _names(fields)
    return _permanent("null_in_topic", f"{names} is NULL and names the topic", f"let the writer give {names} a value")


def illegal_topic(fields: Iterable[Field]) -> Failure:
    return _permanent(
        "illegal_topic",
        f"{_names(fields)} makes a topic name that Kafka does not allow",
        f"let the writer use letters, digits, '.', '_' and '-' only, {LONGEST_TOPIC} characters at most",
    )


def null_in_key(fields: Iterable[Field]) -> Failure:
    names = _names(fields)
    return _permanent("null_in_key", f"{names} is NULL and part of the key", f"let the writer give {names} a value")


def bad_partition(template: str) -> Failure:
    return _permanent(
        "bad_partition",
        f"{template} is no partition",
        f"let {template} be a whole number from 0, or NULL to leave it to the partitioner",
    )


def bad_timestamp(template: str) -> Failure:
    return _permanent(
        "bad_timestamp",
        f"{template} is no point in time that Kafka knows",
        f"let {template} be a timestamptz, a timestamp in UTC or milliseconds since 1970, or NULL for the commit's",
    )


def bad_headers(column: str) -> Failure:
    return _permanent(
        "bad_headers", f"column {column} holds no JSON object", f"let {column} be a JSON object of names and values"
    )


def bad_message(label: str) -> Failure:
    return _permanent(
        "bad_message",
        f"the content of {label} is no JSON object",
        "let the writer give pg_logical_emit_message a JSON object whose fields are the columns",
    )


def null_key(column: str, route: str) -> Failure:
    return _permanent(
        "null_key",
        f"column {column} is NULL, and route {route} keeps strict order by key",
        f"let the writer give {column} a value, or set the route's ordering to relaxed",
    )


def missing_columns(label: str, columns: Iterable[str]) -> Failure:
    names = ", ".join(columns)
    return _permanent(
        "missing_column",
        f"{label} has no column {names} in the stream",
        "add the column to the table (and to the publication's column list), or use another one under"
        f" outboxes[].columns or outboxes[].routes: {names}",
    )


def bad_schedule(column: str) -> Failure:
    return _permanent(
        "bad_schedule",
        f"column {column} holds no point in time",
        f"let the writer use a finite timestamptz, or a timestamp in UTC, for {column};"
        " a retry publishes this record at once",
    )


def bad_bytea(column: str) -> Failure:
    return _permanent(
        "bad_bytea",
        f"column {column} is a bytea and holds no hexadecimal digits",
        f"repair {column} in the parked record, then retry",
    )


def bad_value(column: str) -> Failure:
    return _permanent(
        "bad_value",
        f"column {column} holds what JSON cannot say: bytes that are not UTF-8, or a bytea without hexadecimal digits",
        f"repair {column} in the parked record, then retry; envelope raw passes any bytes",
    )


def bad_key() -> Failure:
    return _permanent(
        "bad_key",
        "the record's key is not UTF-8, and the route's envelope shows it",
        "repair the key's column in the parked record, then retry; envelopes debezium and raw pass any bytes",
    )


def bad_json(column: str, envelope: str) -> Failure:
    return _permanent(
        "bad_json",
        f"column {column} holds no JSON, and envelope {envelope} of the route promises JSON",
        f"let the writer put valid JSON into {column} (a jsonb column refuses anything else); repair it in the parked"
        " record, then retry",
    )


def spoiled_json(column: str) -> Failure:
    return _permanent(
        "spoiled_json",
        f"column {column} is of a JSON type and was edited into something else",
        "repair it in the parked record, then retry",
    )


def huge_json() -> Failure:
    return _permanent(
        "huge_json",
        f"the row has JSON of more than {LONGEST_BYTES >> 20} MiB, or nested deeper than {DEEPEST_LEVELS} levels, which"
        " its route or envelope would have to read",
        "leave payload.… out of `when` and of templates, and use envelope raw or debezium without expand_json, or a"
        " smaller payload; then retry",
    )


def missing_attribute(column: str, attribute: str) -> Failure:
    return _permanent(
        "missing_attribute",
        f"column {column} is NULL or empty, and a CloudEvent must have the attribute {attribute}",
        f"let the writer give {column} a value; or use envelope debezium, native or raw for rows without one",
    )


def bad_attribute(column: str, attribute: str) -> Failure:
    return _permanent(
        "bad_attribute",
        f"column {column} cannot be the attribute {attribute} of a CloudEvent: it has control characters or is not"
        " UTF-8",
        f"let the writer leave control characters out of {column}; repair it in the parked record, then retry",
    )


def bad_event_time(column: str) -> Failure:
    return _permanent(
        "bad_event_time",
        f"column {column} holds no time between the years 1 and 9999, and a CloudEvent tells one",
        f"let the writer use a finite timestamptz, or a timestamp in UTC, for {column}",
    )


def unknown_outbox(label: str) -> Failure:
    return _permanent(
        "unknown_outbox",
        f"{label} is no outbox of this configuration any more",
        f"add {label} under outboxes and restart the relay, then retry; or discard the record",
    )


def _names(fields: Iterable[Field]) -> str:
    return ", ".join(str(field) for field in dict.fromkeys(fields))


def _show(value: bytes | None) -> str:
    if value is None:
        return "NULL"
    text = value[:_LONGEST_SHOWN].decode("utf-8", "replace")
    return repr(text) + ("…" if len(value) > _LONGEST_SHOWN else "")


def _permanent(code: str, reason: str, remedy: str) -> Failure:
    return Failure(code, reason, remedy, ErrorClass.PERMANENT)
