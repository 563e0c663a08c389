"""The decoder: any bytes are a message that is written back as those very bytes, or a DecodeError.

It has no compiled twin of its own: what is compiled cuts rows out of whole frames, and is compared in `intake`.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdc_relay.errors import DecodeError
from cdc_relay.protocol.messages import (
    UNCHANGED,
    Begin,
    Column,
    Commit,
    Delete,
    Insert,
    LogicalMessage,
    Message,
    Origin,
    Relation,
    StreamAbort,
    StreamCommit,
    StreamStart,
    StreamStop,
    Truncate,
    Type,
    Update,
)
from cdc_relay.protocol.pgoutput import Decoder, decode_row
from cdc_relay.protocol.wire import PAYLOAD_OFFSET
from tests.unit.pgoutput_bytes import MILLENNIUM_US, encode, encode_row, outcome

__all__ = ["TOKENS", "check", "seeds"]

TOKENS = (b"public\0", b"outbox\0", b"\0\0\0\x01t", b"t\0\0\0\x01", b"N\0\x01n", b"\0\x02un", b"\xff\xff\xff\xff")

_WITHIN = 2  # a flag of the first byte: between Stream Start and Stream Stop
_HEADER = b"w" * PAYLOAD_OFFSET
_ROW = (b"1", None, UNCHANGED, "\u00e4".encode())


def check(data: bytes) -> None:
    """The first byte says which decoder; the message is what comes after it, as it would in a frame."""
    flags, message = (data[0] if data else 0), data[1:]
    kind, found = told = outcome(_decoder(flags), message)
    assert outcome(_decoder(flags), memoryview(message)) == told
    assert outcome(_decoder(flags), memoryview(bytearray(_HEADER + message)), PAYLOAD_OFFSET) == told
    # Every byte is accounted for.
    assert kind is DecodeError or encode(found) == message  # type: ignore[arg-type]  # no error: then it is a message
    _check_row(message)


def _decoder(flags: int) -> Decoder:
    decoder = Decoder(1 + (flags & 1))
    if flags & 1 and flags & _WITHIN:
        decoder.decode(b"S\0\0\0\x01\x01")
    return decoder


def _check_row(data: bytes) -> None:
    try:
        row, end = decode_row(data, 0)
    except DecodeError:
        return
    assert data[:end] == encode_row(row)


def seeds() -> Iterator[bytes]:
    for message in (*_messages(None), *_of_streams()):
        yield b"\0" + encode(message)
        yield b"\x01" + encode(message)
    for message in _messages(7):
        yield b"\x03" + encode(message)
    yield b"\x03" + encode(StreamStop())
    yield b"\0" + encode_row(_ROW)


def _messages(xid: int | None) -> Iterator[Message]:
    columns = (Column("id", 20, -1, True), Column("Nam\u00e9", 1043, 68, False))
    yield Relation(1, "public", "outbox", "d", columns, xid)
    yield Type(16_999, "public", "mood", xid)
    yield Insert(1, _ROW, xid)
    yield Update(1, None, None, _ROW, xid)
    yield Update(1, "K", (b"1", None), _ROW, xid)
    yield Update(1, "O", _ROW, _ROW, xid)
    yield Delete(1, "K", (b"1", None), xid)
    yield Delete(1, "O", _ROW, xid)
    yield Truncate((1, 2), True, True, xid)
    yield LogicalMessage(True, 0x16B3748, "outbox", b"{}", xid)
    yield Origin(7, "north")


def _of_streams() -> Iterator[Message]:
    yield Begin(0x16B3748, MILLENNIUM_US + 1, 743)
    yield Commit(0, 0x16B3748, 0x16B3750, MILLENNIUM_US + 1)
    yield StreamStart(7, True)
    yield StreamCommit(7, 0, 0x16B3748, 0x16B3750, MILLENNIUM_US + 1)
    yield StreamAbort(7, 8)
