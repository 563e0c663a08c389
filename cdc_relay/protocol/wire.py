"""The frames inside CopyData of a replication stream: what the server sends, and the status update that we answer.

Times here are microseconds since 1970 UTC; Postgres counts from 2000. Frames may be bytes or memoryview.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from cdc_relay.errors import DecodeError

__all__ = [
    "KEEPALIVE",
    "PAYLOAD_OFFSET",
    "POSTGRES_EPOCH_US",
    "STATUS_UPDATE",
    "XLOG_DATA",
    "Keepalive",
    "StatusUpdate",
    "XLogData",
    "encode_status",
    "parse_keepalive",
    "parse_status",
    "parse_xlog_header",
]

XLOG_DATA = 0x77  # 'w'
KEEPALIVE = 0x6B  # 'k'
STATUS_UPDATE = 0x72  # 'r'
PAYLOAD_OFFSET = 25  # where the pgoutput message begins in an XLogData frame
POSTGRES_EPOCH_US = 946_684_800_000_000  # 2000-01-01 in microseconds since 1970

_XLOG_HEADER = Struct(">BQQq")
_KEEPALIVE = Struct(">BQqB")
_STATUS = Struct(">BQQQqB")


class XLogData(NamedTuple):
    start_lsn: int
    wal_end: int
    send_time_us: int


class Keepalive(NamedTuple):
    wal_end: int
    send_time_us: int
    reply_requested: bool


class StatusUpdate(NamedTuple):
    write_lsn: int
    flush_lsn: int
    apply_lsn: int
    time_us: int
    reply_requested: bool


def parse_xlog_header(frame: bytes | memoryview) -> XLogData:
    if len(frame) < PAYLOAD_OFFSET:
        raise _wrong_length("XLogData", f"a header of {PAYLOAD_OFFSET} bytes", frame)
    kind, start_lsn, wal_end, time = _XLOG_HEADER.unpack_from(frame)
    if kind != XLOG_DATA:
        raise _wrong_kind("XLogData", XLOG_DATA, kind)
    # one per message, and the tuple's own constructor is 100 ns faster than XLogData(...)
    return tuple.__new__(XLogData, (start_lsn, wal_end, time + POSTGRES_EPOCH_US))


def parse_keepalive(frame: bytes | memoryview) -> Keepalive:
    if len(frame) != _KEEPALIVE.size:
        raise _wrong_length("Keepalive", f"{_KEEPALIVE.size} bytes", frame)
    kind, wal_end, time, reply = _KEEPALIVE.unpack_from(frame)
    if kind != KEEPALIVE:
        raise _wrong_kind("Keepalive", KEEPALIVE, kind)
    return Keepalive(wal_end, time + POSTGRES_EPOCH_US, _flag("Keepalive", reply, offset=17))


def encode_status(*, write_lsn: int, flush_lsn: int, apply_lsn: int, time_us: int, reply_requested: bool) -> bytes:
    return _STATUS.pack(STATUS_UPDATE, write_lsn, flush_lsn, apply_lsn, time_us - POSTGRES_EPOCH_US, reply_requested)


def parse_status(frame: bytes | memoryview) -> StatusUpdate:
    if len(frame) != _STATUS.size:
        raise _wrong_length("StatusUpdate", f"{_STATUS.size} bytes", frame)
    kind, write_lsn, flush_lsn, apply_lsn, time, reply = _STATUS.unpack_from(frame)
    if kind != STATUS_UPDATE:
        raise _wrong_kind("StatusUpdate", STATUS_UPDATE, kind)
    reply_requested = _flag("StatusUpdate", reply, offset=33)
    return StatusUpdate(write_lsn, flush_lsn, apply_lsn, time + POSTGRES_EPOCH_US, reply_requested)


def _flag(name: str, value: int, *, offset: int) -> bool:
    if value > 1:
        raise DecodeError(f"{name}: at byte {offset} expected the reply flag 0 or 1, found {value:#04x}")
    return value == 1


def _wrong_kind(name: str, expected: int, found: int) -> DecodeError:
    return DecodeError(f"{name}: at byte 0 expected {chr(expected)!r}, found {found:#04x}")


def _wrong_length(name: str, expected: str, frame: bytes | memoryview) -> DecodeError:
    return DecodeError(f"{name}: at byte 0 expected {expected}, found {len(frame)} in the frame")
