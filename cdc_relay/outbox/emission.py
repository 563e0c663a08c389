"""Events into the outbox, in the transaction of the caller: nothing here begins, commits or rolls back."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from .connections import AsyncConnection, Connection, Line, open_async_line, open_line
from .errors import TransactionError
from .event import Event
from .outbox import Outbox
from .statements import Statement, write

__all__ = ["emit", "emit_async", "emit_many", "emit_many_async"]

_DEFAULT = Outbox()


def emit(conn: Connection, event: Event, *, outbox: Outbox = _DEFAULT) -> UUID:
    """Write one event; its id. It is published when the caller's transaction commits, and only then."""
    [event_id] = emit_many(conn, [event], outbox=outbox)
    return event_id


def emit_many(conn: Connection, events: Iterable[Event], *, outbox: Outbox = _DEFAULT) -> list[UUID]:
    """Write events in their order, 500 in a statement; their ids. One that is wrong: none is written."""
    line, wanted = open_line(conn), list(events)
    for sql, parameters in _prepare(line, wanted, outbox):
        line.execute(sql, parameters)
    return [event.id for event in wanted]


async def emit_async(conn: AsyncConnection, event: Event, *, outbox: Outbox = _DEFAULT) -> UUID:
    """As emit, for asynchronous connections."""
    [event_id] = await emit_many_async(conn, [event], outbox=outbox)
    return event_id


async def emit_many_async(conn: AsyncConnection, events: Iterable[Event], *, outbox: Outbox = _DEFAULT) -> list[UUID]:
    """As emit_many, for asynchronous connections."""
    line, wanted = await open_async_line(conn), list(events)
    for sql, parameters in _prepare(line, wanted, outbox):
        await line.execute(sql, parameters)
    return [event.id for event in wanted]


def _prepare(line: Line, events: list[Event], outbox: Outbox) -> list[Statement]:
    if outbox.require_transaction and not line.is_in_transaction:
        raise TransactionError(
            "no transaction is open: the event would be published whatever becomes of the change it tells of; open one"
            " (conn.transaction(), transaction.atomic()), or say Outbox(require_transaction=False)"
        )
    return write(events, outbox, line.spelling)
