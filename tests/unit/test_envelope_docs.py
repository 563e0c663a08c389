"""The records that docs/envelopes.md shows are those that the envelopes make of its example row."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdc_relay.config.envelopes import parse_envelope
from cdc_relay.model import Failure, Transaction
from cdc_relay.protocol.messages import Column
from cdc_relay.routing.envelopes.envelope import Source
from cdc_relay.routing.event_columns import EventColumns

DOCUMENT = (Path(__file__).parents[2] / "docs" / "envelopes.md").read_text("utf-8")
OUTBOX = EventColumns(
    "public",
    "outbox",
    "public.outbox",
    "id",
    "aggregateid",
    "type",
    "payload",
    correlation_column="correlation_id",
    tenant_column="tenant",
    timestamp_column="created_at",
)
CELLS = {
    "id": (2950, b"6f1c3a52-8d9e-4b7a-9c61-0d2f4e5a7b80"),
    "aggregateid": (25, b"order-17"),
    "type": (25, b"OrderPlaced"),
    "payload": (3802, b'{"id": 17, "total": 12.50}'),
    "correlation_id": (25, b"req-9"),
    "tenant": (25, b"acme"),
    "created_at": (1184, b"2026-01-02 03:04:05.5+00"),
}
SOURCE = Source(Transaction(commit_lsn=0x16B3748, commit_time_us=1_767_323_046_123_456, xid=777), 0)
FIELDS = [
    {"column": "tenant", "placement": "header"},
    {"column": "type", "placement": "envelope", "alias": "eventType"},
]


@pytest.mark.parametrize(
    "spelled",
    [
        "debezium",
        {"debezium": {"expand_json": True, "fields": FIELDS}},
        "native",
        "cloudevents",
        {"cloudevents": "structured"},
        "raw",
    ],
    ids=str,
)
def test_the_document_shows_the_record(spelled: object) -> None:
    columns = tuple(Column(name, oid, -1, False) for name, (oid, _) in CELLS.items())
    row = tuple(value for _, value in CELLS.values())
    encoded = parse_envelope(spelled).bind(OUTBOX, columns)(row, b"order-17", SOURCE)
    assert not isinstance(encoded, Failure)
    lines = [f"{name}: {(value or b'').decode()}" for name, value in encoded.headers]
    shown = [f"{'headers' if number == 0 else '':<8} {line}" for number, line in enumerate(lines)]
    block = "\n".join([*shown, f"{'value':<8} {(encoded.value or b'').decode()}"])
    assert f"```text\n{block}\n```" in DOCUMENT, block
