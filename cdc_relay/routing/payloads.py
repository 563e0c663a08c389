"""A payload as a part of JSON, in pieces of bytes: it may have 100 MB, and as a str every character may take four.

Text is decoded piece by piece and dropped again, so that beside the payload only what will be sent is in memory.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator

from cdc_relay.routing.json_text import quote
from cdc_relay.routing.values import JSON_OIDS, renderer

__all__ = ["Pieces", "bind_pieces", "check_utf_8", "quote_pieces"]

Pieces = Callable[[bytes | None], list[bytes]]  # ValueError: such a payload cannot be said in JSON

_PIECE_BYTES = 1 << 20
_make_decoder = getincrementaldecoder("utf-8")


def bind_pieces(type_oid: int) -> Pieces:
    """What compile_value makes of it, as bytes."""
    render = renderer(type_oid)
    if type_oid in JSON_OIDS:
        return lambda value: [b"null" if value is None else check_utf_8(value)]
    if render is quote:
        return lambda value: [b"null"] if value is None else quote_pieces(value)
    return lambda value: [b"null" if value is None else render(value.decode()).encode()]


def check_utf_8(value: bytes) -> bytes:
    """The same object."""
    if len(value) <= _PIECE_BYTES:
        value.decode()
    elif not value.isascii():
        for _ in _decode(value):
            pass
    return value


def quote_pieces(value: bytes) -> list[bytes]:
    if len(value) <= _PIECE_BYTES:
        return [quote(value.decode()).encode()]
    return [b'"', *[quote(text)[1:-1].encode() for text in _decode(value)], b'"']


def _decode(value: bytes) -> Iterator[str]:
    decoder = _make_decoder()
    for begin in range(0, len(value), _PIECE_BYTES):
        yield decoder.decode(value[begin : begin + _PIECE_BYTES])
    decoder.decode(b"", final=True)
