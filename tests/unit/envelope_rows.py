"""Rows for tests of envelopes: an outbox with every optional column, and what an envelope makes of a row of it."""

from __future__ import annotations

from collections.abc import Mapping

from cdc_relay.model import Failure, Headers, Transaction
from cdc_relay.protocol.messages import Column
from cdc_relay.routing.envelopes.envelope import Encoded, Envelope, Source
from cdc_relay.routing.event_columns import EventColumns

__all__ = [
    "BYTEA",
    "INT4",
    "JSON",
    "JSONB",
    "OUTBOX",
    "SOURCE",
    "TEXT",
    "TIMESTAMPTZ",
    "Cells",
    "encode",
    "encoded",
    "refused",
]

BYTEA, TEXT, JSONB, JSON, UUID, INT4, TIMESTAMPTZ = 17, 25, 3802, 114, 2950, 23, 1184

OUTBOX = EventColumns("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload")
SOURCE = Source(Transaction(commit_lsn=0x16B3748, commit_time_us=1_767_323_045_123_456, xid=777), 3)

Cells = Mapping[str, tuple[int, bytes | None] | bytes | None]  # a value of the usual type, or a type oid and a value

_USUAL: dict[str, tuple[int, bytes | None]] = {
    "id": (UUID, b"e1"),
    "aggregateid": (TEXT, b"k1"),
    "type": (TEXT, b"Placed"),
    "payload": (JSONB, b'{"n": 1.10}'),
}


def encode(
    envelope: Envelope,
    cells: Cells | None = None,
    *,
    outbox: EventColumns = OUTBOX,
    key: bytes | None = b"k1",
    source: Source = SOURCE,
) -> Encoded | Failure:
    """`cells`: what differs from a usual row, or is more."""
    row = dict(_USUAL)
    for name, cell in (cells or {}).items():
        row[name] = cell if isinstance(cell, tuple) else (_USUAL.get(name, (TEXT, None))[0], cell)
    described = tuple(Column(name, oid, -1, False) for name, (oid, _) in row.items())
    return envelope.bind(outbox, described)(tuple(value for _, value in row.values()), key, source)


def encoded(
    envelope: Envelope, cells: Cells | None = None, *, outbox: EventColumns = OUTBOX, key: bytes | None = b"k1"
) -> tuple[bytes | None, Headers]:
    outcome = encode(envelope, cells, outbox=outbox, key=key)
    assert isinstance(outcome, Encoded), outcome
    return outcome.value, outcome.headers


def refused(
    envelope: Envelope, cells: Cells | None = None, *, outbox: EventColumns = OUTBOX, key: bytes | None = b"k1"
) -> tuple[str, str]:
    """The failure's code and reason."""
    outcome = encode(envelope, cells, outbox=outbox, key=key)
    assert isinstance(outcome, Failure), outcome
    return outcome.code, outcome.reason
