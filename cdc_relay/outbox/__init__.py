"""For producers: write an event into the outbox, in the transaction that makes it true.

    from cdc_relay.outbox import Event, emit

    with psycopg.connect() as conn:
        conn.execute("UPDATE orders SET …")
        emit(conn, Event(aggregatetype="order", key="4711", type="OrderPlaced", payload={"total": "99.90"}))

Imports nothing but the standard library and itself, by relative names, so that a copy of it works under any name.
It commits nothing. docs/producers.md is its guide.
"""

from .emission import emit, emit_async, emit_many, emit_many_async
from .errors import EventError, OutboxError, TransactionError, UnknownConnectionError
from .event import Event
from .ids import uuid7
from .outbox import Outbox

__all__ = [
    "Event",
    "EventError",
    "Outbox",
    "OutboxError",
    "TransactionError",
    "UnknownConnectionError",
    "emit",
    "emit_async",
    "emit_many",
    "emit_many_async",
    "uuid7",
]
