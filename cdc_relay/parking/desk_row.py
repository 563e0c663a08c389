"""A row of the lot as an operator's tools see it, and the SQL that selects it. Plain data; no connection."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["Cell", "Content", "Listed", "Named", "ParkedRow", "selected"]

Cell = str | int | None
Named = dict[str, Cell]  # a header or a column as the table has it: name, value or base64, and a column's type

_EXPRESSIONS = {
    "commit_lsn": "commit_lsn::text",
    "is_being_published": "coalesce(claimed_at > now() - interval '1 minute', false)",
    "read_at": "to_json(now()) #>> '{}'",
}


@dataclass(frozen=True, slots=True)
class Listed:
    """Everything but what may be large. Times as ISO 8601 with microseconds, as Postgres has them."""

    id: int
    slot: str
    status: str
    reason: str
    outbox: str
    commit_lsn: str
    ordinal: int
    commit_time: str
    xid: int
    route: str
    topic: str | None
    key: bytes | None
    partition: int | None  # None: the partitioner decides
    record_time: str
    strict: bool
    hold_dead: bool
    size_bytes: int
    event_id: str | None
    event_type: str | None
    correlation_id: str | None
    tenant: str | None
    attempts: int
    max_attempts: int
    first_failed_at: str | None
    last_error_at: str | None
    last_error: str | None
    error_code: str | None
    error_class: str | None
    remedy: str | None
    next_retry_at: str | None
    scheduled_at: str | None
    published_at: str | None
    copied_at: str | None
    parked_at: str
    claimed_at: str | None
    suspicion: int
    is_being_published: bool  # a claim that is older than a minute is taken for abandoned
    read_at: str  # by the clock of Postgres


@dataclass(frozen=True, slots=True)
class ParkedRow(Listed):
    value: bytes | None
    headers: list[Named]
    columns: list[Named] | None
    edits: list[dict[str, object]]
    run: str | None = None  # of a replay
    run_row: bytes | None = None

    @property
    def content(self) -> Content:
        return Content(self.topic, self.key, self.headers, self.value, self.columns)


@dataclass(frozen=True, slots=True)
class Content:
    """What of a row can be edited."""

    topic: str | None
    key: bytes | None
    headers: list[Named]
    value: bytes | None
    columns: list[Named] | None  # with no topic: what a retry routes it from


def selected(shape: type[DataclassInstance]) -> str:
    """The select list that gives this shape."""
    return ", ".join(f"{_expression(field.name)} AS {field.name}" for field in fields(shape))


def _expression(name: str) -> str:
    is_time = name.endswith(("_at", "_time"))
    return _EXPRESSIONS.get(name) or (f"to_json({name}) #>> '{{}}'" if is_time else name)
