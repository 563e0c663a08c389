"""Bytes in JSON without loss: text where they are text, base64 where not. Pure."""

from __future__ import annotations

import base64
import binascii

from cdc_relay.parking.desk_row import Content, Named

__all__ = ["bytes_of", "decode", "encode", "is_text", "named_size", "size_of"]


def encode(data: bytes | None) -> str | dict[str, str] | None:
    """NUL counts as binary: jsonb cannot hold it."""
    if data is None:
        return None
    if is_text(data):
        return data.decode()
    return {"base64": base64.b64encode(data).decode()}


def decode(shown: object) -> bytes | None:
    """What `encode` made. ValueError says what else it is."""
    match shown:
        case None:
            return None
        case str():
            return shown.encode()  # a lone surrogate is a ValueError too
        case {"base64": str(text), **rest} if not rest:
            return _unpack(text)
        case _:
            raise ValueError("expected text, null or {base64: …}")


def is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


def bytes_of(named: Named) -> bytes | None:
    """The value of a header or column."""
    if "base64" in named:
        return _unpack(str(named["base64"]))
    value = named.get("value")
    return None if value is None else str(value).encode()


def named_size(parts: list[Named]) -> int:
    return sum(len(str(part["name"]).encode()) + len(bytes_of(part) or b"") for part in parts)


def size_of(content: Content) -> int:
    """As the lot's limits count it."""
    if content.topic is None and content.columns is not None:
        return sum(len(bytes_of(column) or b"") for column in content.columns)
    return len(content.key or b"") + len(content.value or b"") + named_size(content.headers)


def _unpack(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("this is not base64") from None
