"""From a Kafka record to what the demo tallies. Pure: a record that does not look as expected is told, not raised."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

import orjson

from cdc_relay.demo.tally import Delivery

__all__ = ["ReceivedRecord", "delivery_of"]

_Headers = dict[str, str | bytes | None] | list[tuple[str, str | bytes | None]] | None


class ReceivedRecord(Protocol):
    """The part of confluent_kafka.Message that is read here."""

    def topic(self) -> str | None: ...
    def key(self) -> str | bytes | None: ...
    def value(self) -> str | bytes | None: ...
    def headers(self) -> _Headers: ...


def delivery_of(record: ReceivedRecord) -> Delivery:
    return Delivery(
        topic=record.topic() or "",
        key=_text(record.key()),
        type=_event_type(record.value()),
        id=_event_id(record.headers()),
    )


def _event_id(headers: _Headers) -> UUID | None:
    """The header `id`, as the outbox row has it."""
    try:
        return UUID(_text(dict(headers or []).get("id")))
    except ValueError:
        return None


def _event_type(value: str | bytes | None) -> str:
    """The type is no part of a record by default: the demo's orders carry it in their payload."""
    try:
        payload = orjson.loads(value or b"")
    except orjson.JSONDecodeError:
        return "?"
    return str(payload.get("event", "?")) if isinstance(payload, dict) else "?"


def _text(value: str | bytes | None) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value or ""
