"""The same events as pgoutput-decoder tells them: it has no call that only decodes, so it reads a slot of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from cdc_relay.protocol.messages import Delete, Insert, Message, Relation, Row, Update
from tests.contract.slot_reading import DEADLINE_SECONDS
from tests.fixtures.database import Database

__all__ = ["Event", "as_events", "read_events"]

Event = tuple[str, dict[str, object] | None, dict[str, object] | None]
CONVERTERS: dict[int, Callable[[bytes], object]] = {16: lambda value: value == b"t", 20: int, 21: int, 23: int}


def as_events(messages: list[Message]) -> list[Event]:
    """Our messages in the oracle's words: operation, before, after, values as Python's own types."""
    events: list[Event] = []
    relations: dict[int, Relation] = {}
    for message in messages:
        match message:
            case Relation():
                relations[message.relation_id] = message
            case Insert(relation_id, row):
                events.append(("c", None, _as_dict(relations[relation_id], row)))
            case Update(relation_id, _, old_row, row):
                relation = relations[relation_id]
                events.append(("u", _as_dict(relation, old_row), _as_dict(relation, row)))
            case Delete(relation_id, _, old_row):
                events.append(("d", _as_dict(relations[relation_id], old_row), None))
    return events


def _as_dict(relation: Relation, row: Row | None) -> dict[str, object] | None:
    if row is None:
        return None
    return {
        column.name: CONVERTERS.get(column.type_oid, bytes.decode)(value) if isinstance(value, bytes) else None
        for column, value in zip(relation.columns, row, strict=True)
    }


def read_events(database: Database, slot: str, count: int) -> list[Event]:
    reason = "pgoutput-decoder 0.1.0 is built for Python 3.12 and newer"
    oracle = pytest.importorskip("pgoutput_decoder", reason=reason, exc_type=ImportError)
    reader = oracle.LogicalReplicationReader(
        publication_name="everything",
        slot_name=slot,
        host="127.0.0.1",
        port=database.server.port,
        database=database.name,
        user="postgres",
    )
    return asyncio.run(_collect(reader, count))


async def _collect(reader: Any, count: int) -> list[Event]:
    messages = [await asyncio.wait_for(anext(reader), DEADLINE_SECONDS) for _ in range(count)]
    await reader.stop()
    return [(message.op, message.before, message.after) for message in messages]
