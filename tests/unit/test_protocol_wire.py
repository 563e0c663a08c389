from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdc_relay.errors import DecodeError
from cdc_relay.protocol.wire import (
    KEEPALIVE,
    PAYLOAD_OFFSET,
    XLOG_DATA,
    Keepalive,
    StatusUpdate,
    XLogData,
    encode_status,
    parse_keepalive,
    parse_status,
    parse_xlog_header,
)

MILLENNIUM_US = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
LSN = st.integers(0, 2**64 - 1)
TIME = st.integers(-(2**63), 2**63 - 1).map(lambda us: us + MILLENNIUM_US)
BODY = st.one_of(st.binary(max_size=40), *(st.binary(min_size=size, max_size=size) for size in (17, 24, 33)))


def test_xlog_header_has_positions_and_unix_time() -> None:
    frame = b"w" + pack(">QQq", 0x16_0000_0001, 0x16_0000_0002, 3) + b"payload"
    assert frame[0] == XLOG_DATA
    assert parse_xlog_header(frame) == XLogData(0x16_0000_0001, 0x16_0000_0002, MILLENNIUM_US + 3)
    assert frame[PAYLOAD_OFFSET:] == b"payload"


@pytest.mark.parametrize("flag", [False, True])
def test_keepalive_says_whether_it_wants_an_answer(flag: bool) -> None:
    frame = b"k" + pack(">Qq?", 2**64 - 1, -1, flag)
    assert frame[0] == KEEPALIVE
    assert parse_keepalive(frame) == Keepalive(2**64 - 1, MILLENNIUM_US - 1, flag)


def test_frames_may_be_memoryviews() -> None:
    data, keepalive = b"w" + pack(">QQq", 1, 2, 3), b"k" + pack(">Qq?", 1, 2, True)
    assert parse_xlog_header(memoryview(data)) == parse_xlog_header(data)
    assert parse_keepalive(memoryview(keepalive)) == parse_keepalive(keepalive)


def test_status_update_is_34_bytes_in_the_order_of_the_protocol() -> None:
    frame = encode_status(write_lsn=1, flush_lsn=2, apply_lsn=3, time_us=MILLENNIUM_US + 4, reply_requested=True)
    assert frame == b"r" + pack(">QQQq", 1, 2, 3, 4) + b"\x01"
    assert len(frame) == 34


@settings(deadline=None)
@given(LSN, LSN, LSN, TIME, st.booleans())
def test_status_update_survives_the_line(write: int, flush: int, apply: int, time_us: int, reply: bool) -> None:
    frame = encode_status(write_lsn=write, flush_lsn=flush, apply_lsn=apply, time_us=time_us, reply_requested=reply)
    assert parse_status(frame) == StatusUpdate(write, flush, apply, time_us, reply)


@pytest.mark.parametrize(
    ("parse", "frame", "complaint"),
    [
        (parse_xlog_header, b"", "XLogData: at byte 0 expected a header of 25 bytes, found 0 in the frame"),
        (parse_xlog_header, b"w" * 24, "XLogData: at byte 0 expected a header of 25 bytes, found 24 in the frame"),
        (parse_xlog_header, b"k" + bytes(24), "XLogData: at byte 0 expected 'w', found 0x6b"),
        (parse_keepalive, b"k" + bytes(16), "Keepalive: at byte 0 expected 18 bytes, found 17 in the frame"),
        (parse_keepalive, b"k" + bytes(18), "Keepalive: at byte 0 expected 18 bytes, found 19 in the frame"),
        (parse_keepalive, b"w" + bytes(17), "Keepalive: at byte 0 expected 'k', found 0x77"),
        (parse_keepalive, b"k" + bytes(16) + b"\2", "Keepalive: at byte 17 expected the reply flag 0 or 1, found 0x02"),
        (parse_status, b"r" + bytes(32), "StatusUpdate: at byte 0 expected 34 bytes, found 33 in the frame"),
        (parse_status, b"r" + bytes(34), "StatusUpdate: at byte 0 expected 34 bytes, found 35 in the frame"),
        (parse_status, b"h" + bytes(33), "StatusUpdate: at byte 0 expected 'r', found 0x68"),
        (parse_status, b"r" + bytes(32) + b"\2", "StatusUpdate: at byte 33 expected the reply flag 0 or 1, found 0x02"),
    ],
)
def test_a_malformed_frame_is_refused(parse: Callable[[bytes], object], frame: bytes, complaint: str) -> None:
    with pytest.raises(DecodeError) as refusal:
        parse(frame)
    assert str(refusal.value) == complaint


@settings(deadline=None)
@given(st.sampled_from([parse_xlog_header, parse_keepalive, parse_status]), st.sampled_from(b"wkr"), BODY)
def test_any_bytes_are_a_frame_or_a_decode_error(parse: Callable[[bytes], object], kind: int, rest: bytes) -> None:
    with suppress(DecodeError):
        parse(bytes([kind]) + rest)
