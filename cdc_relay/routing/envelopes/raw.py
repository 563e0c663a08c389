"""The payload's bytes and nothing else: text as it is, a bytea as the bytes that it holds."""

from __future__ import annotations

from dataclasses import dataclass

from cdc_relay.model import Failure
from cdc_relay.protocol.messages import Column
from cdc_relay.routing import refusals
from cdc_relay.routing.envelopes.envelope import Encode, Encoded, Source, Values
from cdc_relay.routing.envelopes.members import place
from cdc_relay.routing.event_columns import EventColumns
from cdc_relay.routing.values import BYTEA_OID, read_bytea

__all__ = ["Raw"]


@dataclass(frozen=True, slots=True)
class Raw:
    """No headers of its own; those of the route are all there are."""

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    def bind(self, outbox: EventColumns, columns: tuple[Column, ...]) -> Encode:
        index = place(columns, outbox.payload_column)
        if columns[index].type_oid == BYTEA_OID:
            return _bind_bytea(index, outbox.payload_column)

        def encode(row: Values, key: bytes | None, source: Source) -> Encoded:
            return Encoded(row[index], [])

        return encode


def _bind_bytea(index: int, name: str) -> Encode:
    def encode(row: Values, key: bytes | None, source: Source) -> Encoded | Failure:
        printed = row[index]
        try:
            return Encoded(None if printed is None else read_bytea(printed), [])
        except ValueError:
            return refusals.bad_bytea(name)

    return encode
