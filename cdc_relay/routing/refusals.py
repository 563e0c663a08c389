"""Why a row cannot become a record, and what an operator can do: every failure of routing. Never a row's values."""

from __future__ import annotations

from collections.abc import Iterable

from cdc_relay.model import ErrorClass, Failure
from cdc_relay.routing.topics import LONGEST_TOPIC

__all__ = [
    "bad_bytea",
    "bad_schedule",
    "illegal_topic",
    "missing_columns",
    "no_route",
    "null_in_topic",
    "null_key",
    "unknown_outbox",
]


def no_route(label: str, columns: Iterable[str]) -> Failure:
    """`columns`: those that the routes look at."""
    return _permanent(
        "no_route",
        f"no route of {label} matches the row's {', '.join(columns)}",
        "add a route under outboxes[].routes (one without `when` takes the rest), restart the relay, then retry",
    )


def null_in_topic(columns: Iterable[str]) -> Failure:
    names = ", ".join(columns)
    return _permanent(
        "null_in_topic", f"column {names} is NULL and names the topic", f"let the writer give {names} a value"
    )


def illegal_topic(columns: Iterable[str]) -> Failure:
    return _permanent(
        "illegal_topic",
        f"column {', '.join(columns)} makes a topic name that Kafka does not allow",
        f"let the writer use letters, digits, '.', '_' and '-' only, {LONGEST_TOPIC} characters at most",
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


def unknown_outbox(label: str) -> Failure:
    return _permanent(
        "unknown_outbox",
        f"{label} is no outbox of this configuration any more",
        f"add {label} under outboxes and restart the relay, then retry; or discard the record",
    )


def _permanent(code: str, reason: str, remedy: str) -> Failure:
    return Failure(code, reason, remedy, ErrorClass.PERMANENT)
