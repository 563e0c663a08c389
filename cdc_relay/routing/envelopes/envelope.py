"""The seam between routing and envelopes: bound once per relation, then called per row. Knows no envelope."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from cdc_relay.model import Failure, Headers, Transaction
from cdc_relay.protocol.messages import Column
from cdc_relay.routing.event_columns import EventColumns  # not Outbox: that one knows envelopes
from cdc_relay.routing.fields import Values

__all__ = ["Encode", "Encoded", "Envelope", "Source", "Values"]


class Source(NamedTuple):
    """Where a row comes from: everything that an envelope may tell beside the row."""

    transaction: Transaction
    ordinal: int  # place in the transaction


class Encoded(NamedTuple):
    value: bytes | None
    headers: Headers  # in order; those of the route come after them


Encode = Callable[[Values, bytes | None, Source], Encoded | Failure]  # row, the record's key, source


class Envelope(Protocol):
    """How a row's columns become a record's value and headers. Its options are plain data; `bind` compiles them."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that it needs beyond the columns of the outbox's mapping."""
        ...

    def bind(self, outbox: EventColumns, columns: tuple[Column, ...]) -> Encode:
        """`columns` has every column that the outbox and the envelope need."""
        ...
