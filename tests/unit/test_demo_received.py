"""Whatever a record looks like, the demo can say what it is."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import pytest

from cdc_relay.demo.received import delivery_of

EVENT_ID = UUID("5326f458-0000-4000-8000-000000000001")


@dataclass(frozen=True)
class Record:
    id_header: bytes | None = str(EVENT_ID).encode()
    payload: bytes | None = b'{"event": "OrderPaid"}'

    def topic(self) -> str:
        return "outbox.event.order"

    def key(self) -> bytes:
        return b"order-7"

    def value(self) -> bytes | None:
        return self.payload

    def headers(self) -> list[tuple[str, str | bytes | None]] | None:
        return None if self.id_header is None else [("id", self.id_header)]


def test_a_record_tells_topic_key_type_and_id() -> None:
    received = delivery_of(Record())
    assert (received.topic, received.key) == ("outbox.event.order", "order-7")
    assert (received.type, received.id) == ("OrderPaid", EVENT_ID)


@pytest.mark.parametrize("header", [None, b"", b"7", b"\xff\xfe"])
def test_an_unreadable_id_is_none(header: bytes | None) -> None:
    assert delivery_of(Record(id_header=header)).id is None


@pytest.mark.parametrize("payload", [None, b"", b"{", b"[]", b"{}"])
def test_an_unreadable_payload_has_no_type(payload: bytes | None) -> None:
    assert delivery_of(Record(payload=payload)).type == "?"
