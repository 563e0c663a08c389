"""From an event to what is written, a row or the content of a message, with every early check on the way."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from .errors import EventError
from .event import Event
from .json_text import check_text, dump, to_json
from .jsonb import count_printed_bytes
from .names import read_column
from .outbox import Outbox

__all__ = ["Row", "to_message", "to_row"]

Row = dict[str, object]  # by the column's name in the catalog


class _Fields(NamedTuple):
    """By role; what the event leaves out is not there, so that the table need not have it."""

    texts: dict[str, str]
    documents: dict[str, str | None]  # JSON; None is SQL's NULL
    due: datetime | None


def to_row(event: Event, outbox: Outbox) -> Row:
    fields, names = _read(event, outbox), outbox.names
    row: Row = {names[role]: value for role, value in {**fields.texts, **fields.documents}.items()}
    if fields.due is not None:
        row[names["scheduled_at"]] = fields.due
    return row | _read_extra(event.extra, taken=row)


def to_message(event: Event, outbox: Outbox) -> str:
    """A JSON object whose fields are the columns; payload and headers are JSON inside it, not strings."""
    fields, names = _read(event, outbox), outbox.names
    members = {names[role]: dump(text, role) for role, text in fields.texts.items()}
    members |= {names[role]: document or "null" for role, document in fields.documents.items()}
    if fields.due is not None:
        members[names["scheduled_at"]] = dump(fields.due, "scheduled_at")
    members |= {name: dump(value, f"extra.{name}") for name, value in _read_extra(event.extra, taken=members).items()}
    return "{" + ", ".join(f"{dump(name, 'a column')}: {value}" for name, value in members.items()) + "}"


def _read(event: Event, outbox: Outbox) -> _Fields:
    fields = _Fields(_read_texts(event, outbox), _read_documents(event), _read_due(event.scheduled_at))
    size_bytes = _count_bytes(event, fields)
    if size_bytes > outbox.limit_bytes:
        raise EventError(
            f"the event has up to {size_bytes:,} bytes as jsonb prints it, and the limit is {outbox.limit_bytes:,};"
            " send where the bulk is instead, or raise Outbox(limit_bytes=…) and message.max.bytes in sink.kafka and"
            " max.message.bytes of the topic"
        )
    return fields


def _count_bytes(event: Event, fields: _Fields) -> int:
    texts = len(event.key.encode()) + len((event.correlation_id or "").encode())
    return texts + sum(count_printed_bytes(document) for document in fields.documents.values() if document is not None)


def _read_texts(event: Event, outbox: Outbox) -> dict[str, str]:
    if not isinstance(event.id, UUID):
        raise EventError(f"id is {_kind(event.id)}; give a uuid.UUID, or leave it out")
    texts = {"id": str(event.id)}
    if "aggregatetype" in outbox.names:
        texts["aggregatetype"] = _text(event.aggregatetype, "aggregatetype")
    texts |= {"key": _text(event.key, "key"), "type": _text(event.type, "type")}
    if event.correlation_id is not None:
        texts["correlation_id"] = _text(event.correlation_id, "correlation_id")
    return texts


def _read_documents(event: Event) -> dict[str, str | None]:
    documents = {"payload": None if event.payload is None else to_json(event.payload, "payload")}
    if event.headers is not None:
        if not isinstance(event.headers, Mapping):
            raise EventError(f"headers is {_kind(event.headers)}; expected a mapping of names to values")
        documents["headers"] = to_json(event.headers, "headers")
    return documents


def _read_due(given: datetime | None) -> datetime | None:
    if given is None:
        return None
    if not isinstance(given, datetime) or given.utcoffset() is None:
        raise EventError("scheduled_at is no datetime with a zone; a naive one means another moment on another machine")
    try:
        return given.astimezone(UTC)
    except OverflowError:
        raise EventError("scheduled_at is at the end of what a datetime can say") from None


def _read_extra(extra: Mapping[str, object], *, taken: Mapping[str, object]) -> Row:
    read = {read_column(name): value for name, value in extra.items()}
    if twice := sorted(set(read) & set(taken)):
        raise EventError(f"extra has the column {twice[0]}, which the event fills already")
    return read


def _text(value: object, where: str) -> str:
    if value is None or value == "":
        raise EventError(f"{where} is missing or empty")
    if not isinstance(value, str):
        raise EventError(f"{where} is {_kind(value)}; expected text, as str() of it would be")
    return check_text(value, where)


def _kind(value: object) -> str:
    return f"of type {type(value).__name__}"
