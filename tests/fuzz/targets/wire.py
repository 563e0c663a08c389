"""Frames around messages, our answer to them, positions as text: parsed and written back alike, or a DecodeError."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import pack

from cdc_relay.errors import DecodeError
from cdc_relay.protocol.lsn import format_lsn, parse_lsn
from cdc_relay.protocol.peek import peek
from cdc_relay.protocol.wire import (
    PAYLOAD_OFFSET,
    POSTGRES_EPOCH_US,
    Keepalive,
    StatusUpdate,
    XLogData,
    encode_status,
    parse_keepalive,
    parse_status,
    parse_xlog_header,
)
from tests.unit import frames

__all__ = ["TOKENS", "check", "seeds"]

TOKENS = (b"16/B374D848", b"FFFFFFFF/FFFFFFFF", b"outbox\0", b"\xff" * 8)

Parse = Callable[[bytes | memoryview], XLogData | Keepalive | StatusUpdate]


def check(data: bytes) -> None:
    for parse in (parse_xlog_header, parse_keepalive, parse_status):
        found = _attempt(parse, data)
        assert _attempt(parse, memoryview(data)) == found
        assert found is None or data.startswith(_write(found))
    _check_head(data)
    _check_position(data)


def _attempt(parse: Parse, data: bytes | memoryview) -> XLogData | Keepalive | StatusUpdate | None:
    try:
        return parse(data)
    except DecodeError:
        return None


def _write(found: XLogData | Keepalive | StatusUpdate) -> bytes:
    match found:
        case XLogData(start, end, time_us):
            return b"w" + pack(">QQq", start, end, time_us - POSTGRES_EPOCH_US)
        case Keepalive(end, time_us, reply):
            return b"k" + pack(">QqB", end, time_us - POSTGRES_EPOCH_US, reply)
        case StatusUpdate():
            return encode_status(**found._asdict())


def _check_head(data: bytes) -> None:
    """Asked of the messages that may bring a record, and of no other."""
    if data[PAYLOAD_OFFSET : PAYLOAD_OFFSET + 1] not in (b"I", b"M"):
        return
    try:
        head = peek(data, PAYLOAD_OFFSET)
    except DecodeError:
        return
    assert peek(memoryview(data), PAYLOAD_OFFSET) == head


def _check_position(data: bytes) -> None:
    text = data.decode("latin-1")
    try:
        lsn = parse_lsn(text)
    except DecodeError:
        return
    assert 0 <= lsn < 1 << 64
    assert parse_lsn(format_lsn(lsn)) == lsn


def seeds() -> Iterator[bytes]:
    yield frames.keepalive(1 << 40, reply=True)
    yield frames.begin(0x16B3748)
    yield frames.insert(b"e1", b"order", b"k1", b"Placed", b"{}")
    yield frames.message(b"{}", lsn=77, transactional=False)
    yield encode_status(write_lsn=3, flush_lsn=2, apply_lsn=1, time_us=POSTGRES_EPOCH_US + 5, reply_requested=True)
    yield b"16/B374D848"
