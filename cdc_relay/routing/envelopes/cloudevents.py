"""CloudEvents 1.0 in the Kafka protocol binding: attributes in headers (binary) or one JSON object (structured).

Owns the value and the content type; the attributes are those of attributes.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cdc_relay.model import Failure
from cdc_relay.protocol.messages import Column
from cdc_relay.routing import refusals
from cdc_relay.routing.envelopes.attributes import Mapped, bind_attributes, map_attributes
from cdc_relay.routing.envelopes.envelope import Encode, Encoded, Source, Values
from cdc_relay.routing.envelopes.members import place
from cdc_relay.routing.event_columns import EventColumns
from cdc_relay.routing.json_text import BadJsonError, check_json, quote
from cdc_relay.routing.payloads import check_utf_8, quote_pieces
from cdc_relay.routing.values import BYTEA_OID, JSON_OIDS, read_bytea, render_bytea

__all__ = ["STRUCTURED_TYPE", "CloudEvents", "is_json_type"]

_PREFIX = "ce_"  # of headers
STRUCTURED_TYPE = ("content-type", b"application/cloudevents+json; charset=UTF-8")
_URI_SIGNS, _MEDIA_TYPE_SIGNS = re.compile("[!-~]+"), re.compile("[!-~]+/[ -~]+")

_RenderData = Callable[[bytes], list[bytes]]  # with the member's name; ValueError: such data cannot be said


@dataclass(frozen=True, slots=True)
class CloudEvents:
    """A NULL payload is an event without data: a tombstone in binary mode, as the binding has it."""

    mode: Literal["binary", "structured"] = "binary"
    source: str | None = None  # default: /cdc-relay/<outbox>
    subject: str | None = None  # the column of the attribute `subject`
    content_type: str | None = None  # of the payload; default: by the column's type

    def __post_init__(self) -> None:
        if self.source is not None and not _URI_SIGNS.fullmatch(self.source):
            raise ValueError("source: expected a URI reference such as /shop/orders: ASCII, without blanks")
        if self.content_type is not None and not _MEDIA_TYPE_SIGNS.fullmatch(self.content_type):
            raise ValueError("content_type: expected a media type such as application/avro, in ASCII")

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.subject is None else (self.subject,)

    def bind(self, outbox: EventColumns, columns: tuple[Column, ...]) -> Encode:
        return self._bind_binary(outbox, columns) if self.mode == "binary" else self._bind_structured(outbox, columns)

    def _bind_binary(self, outbox: EventColumns, columns: tuple[Column, ...]) -> Encode:
        name, index = outbox.payload_column, place(columns, outbox.payload_column)
        attributes = bind_attributes(outbox, columns, source=self.source, subject=self.subject, prefix=_PREFIX)
        oid = columns[index].type_oid
        content_type, is_bytea = ("content-type", self.find_content_type(oid).encode()), oid == BYTEA_OID

        def encode(row: Values, key: bytes | None, source: Source) -> Encoded | Failure:
            headers, value = attributes(row, source), row[index]
            if isinstance(headers, Failure):
                return headers
            if value is None:
                return Encoded(None, [*headers])
            try:
                return Encoded(read_bytea(value) if is_bytea else value, [*headers, content_type])
            except ValueError:
                return refusals.bad_bytea(name)

        return encode

    def _bind_structured(self, outbox: EventColumns, columns: tuple[Column, ...]) -> Encode:
        name, index = outbox.payload_column, place(columns, outbox.payload_column)
        attributes = bind_attributes(outbox, columns, source=self.source, subject=self.subject, prefix="")
        content_type = self.find_content_type(columns[index].type_oid)
        data_type = f',"datacontenttype":{quote(content_type)}'.encode()
        render = _choose_data(columns[index], content_type)

        def encode(row: Values, key: bytes | None, source: Source) -> Encoded | Failure:
            told, value = attributes(row, source), row[index]
            if isinstance(told, Failure):
                return told
            text = ",".join([f'"{attribute}":{quote((given or b"").decode())}' for attribute, given in told])
            try:
                data = [] if value is None else [data_type, *render(value)]
            except BadJsonError:
                return refusals.bad_json(name, "cloudevents")
            except ValueError:
                return refusals.bad_value(name)
            return Encoded(b"".join((b"{", text.encode(), *data, b"}")), [STRUCTURED_TYPE])

        return encode

    def map_attributes(self, outbox: EventColumns, columns: tuple[Column, ...]) -> Mapped:
        """For whoever builds events without our help."""
        prefix = _PREFIX if self.mode == "binary" else ""
        return map_attributes(outbox, columns, source=self.source, subject=self.subject, prefix=prefix)

    def find_content_type(self, type_oid: int) -> str:
        if self.content_type is not None:
            return self.content_type
        if type_oid in JSON_OIDS:
            return "application/json"
        return "application/octet-stream" if type_oid == BYTEA_OID else "text/plain; charset=utf-8"


def _choose_data(column: Column, content_type: str) -> _RenderData:
    """The JSON format: bytes as data_base64; JSON as it is, where the content type says so; else a string."""
    if column.type_oid == BYTEA_OID:
        return lambda value: [b',"data_base64":', render_bytea(value.decode()).encode()]
    if not is_json_type(content_type):
        return lambda value: [b',"data":', *quote_pieces(value)]
    if column.type_oid in JSON_OIDS:
        return lambda value: [b',"data":', check_utf_8(value)]
    return lambda value: [b',"data":', check_json(value).encode()]


def is_json_type(content_type: str) -> bool:
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type.endswith(("/json", "+json"))
