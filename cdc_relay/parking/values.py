"""Values on their way into the lot's columns and back: bytes, texts that Postgres would refuse, headers, rows.

Nothing here may fail for any content: a record that cannot be parked would stop the relay.
"""

from __future__ import annotations

import base64
import struct
from typing import Any

import orjson

from cdc_relay.model import Columns, Headers, KeptColumn

__all__ = [
    "as_bool",
    "as_columns",
    "as_headers",
    "as_jsonb",
    "as_text",
    "as_timestamp",
    "headers_size",
    "read_columns",
    "read_headers",
]

_POSTGRES_EPOCH_US = 946_684_800_000_000  # 2000-01-01, counted from 1970
_INT64 = struct.Struct(">q")


def as_timestamp(unix_us: int) -> bytes:
    """A timestamptz in binary: exact to the microsecond, as an identity has to be."""
    return _INT64.pack(unix_us - _POSTGRES_EPOCH_US)


def as_text(value: bytes | str | None, *, is_utf8: bool = True) -> str | None:
    """For people to read, so whatever the database's encoding cannot hold is replaced."""
    if value is None:
        return None
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    text = text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    return text if is_utf8 or text.isascii() else text.encode("ascii", "backslashreplace").decode("ascii")


def as_bool(value: bool) -> str:
    return "t" if value else "f"


def as_jsonb(value: object) -> bytes:
    """jsonb in binary is a version number and the text."""
    return b"\x01" + orjson.dumps(value)


def as_headers(headers: Headers, *, is_utf8: bool = True) -> bytes:
    if not headers:
        return b"\x01[]"
    return as_jsonb([{"name": as_text(name, is_utf8=is_utf8), **_as_json(value, is_utf8)} for name, value in headers])


def as_columns(columns: Columns, *, is_utf8: bool = True) -> bytes:
    """json in binary is its text."""
    return orjson.dumps([_as_column(column, is_utf8) for column in columns])


def read_headers(text: bytes) -> Headers:
    return [(each["name"], _from_json(each)) for each in orjson.loads(text)]


def read_columns(text: bytes) -> Columns:
    return [
        KeptColumn(each["name"], each["type"], _from_json(each), each.get("modifier", -1))
        for each in orjson.loads(text)
    ]


def headers_size(headers: Headers) -> int:
    return sum(len(name) + len(value or b"") for name, value in headers)


def _as_column(column: KeptColumn, is_utf8: bool) -> dict[str, str | int | None]:
    """The modifier only where there is one: few types have it."""
    modifier = {} if column.type_modifier < 0 else {"modifier": column.type_modifier}
    return {"name": column.name, "type": column.type_oid, **modifier, **_as_json(column.value, is_utf8)}


def _as_json(value: bytes | None, is_utf8: bool) -> dict[str, str | None]:
    if value is None:
        return {"value": None}
    text = _plain_text(value, is_utf8)
    return {"base64": base64.b64encode(value).decode()} if text is None else {"value": text}


def _plain_text(value: bytes, is_utf8: bool) -> str | None:
    """None where the text would not come back as these very bytes: jsonb refuses NUL."""
    if b"\x00" in value or not (is_utf8 or value.isascii()):
        return None
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _from_json(each: dict[str, Any]) -> bytes | None:
    if "base64" in each:
        return base64.b64decode(each["base64"])
    value: str | None = each["value"]
    return None if value is None else value.encode()
