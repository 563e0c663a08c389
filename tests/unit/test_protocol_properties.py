"""What must hold for any message and any bytes, checked with generated ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

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
from tests.unit.pgoutput_bytes import MILLENNIUM_US, encode, encode_row, outcome

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no defect
UINT32 = st.integers(0, 2**32 - 1)
LSN = st.integers(0, 2**64 - 1)
TIME = st.integers(-(2**63), 2**63 - 1).map(lambda us: us + MILLENNIUM_US)
NAME = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=70)
VALUE = st.one_of(st.none(), st.just(UNCHANGED), st.binary(max_size=300))
ROW = st.lists(VALUE, max_size=12).map(tuple)
COLUMN = st.builds(Column, NAME, UINT32, st.integers(-(2**31), 2**31 - 1), st.booleans())
OLD = st.sampled_from("KO")


def changes(xid: st.SearchStrategy[int | None]) -> st.SearchStrategy[Message]:
    return st.one_of(
        st.builds(Relation, UINT32, NAME, NAME, st.sampled_from("dnfi"), st.lists(COLUMN, max_size=5).map(tuple), xid),
        st.builds(Type, UINT32, NAME, NAME, xid),
        st.builds(Insert, UINT32, ROW, xid),
        st.builds(Update, UINT32, st.none(), st.none(), ROW, xid),
        st.builds(Update, UINT32, OLD, ROW, ROW, xid),
        st.builds(Delete, UINT32, OLD, ROW, xid),
        st.builds(Truncate, st.lists(UINT32, max_size=5).map(tuple), st.booleans(), st.booleans(), xid),
        st.builds(LogicalMessage, st.booleans(), LSN, NAME, st.binary(max_size=300), xid),
    )


ORIGIN = st.builds(Origin, LSN, NAME)
TRANSACTION = st.one_of(st.builds(Begin, LSN, TIME, UINT32), st.builds(Commit, st.just(0), LSN, LSN, TIME))
STREAM_START = st.builds(StreamStart, UINT32, st.booleans())
STREAM_END = st.one_of(
    st.builds(StreamCommit, UINT32, st.just(0), LSN, LSN, TIME), st.builds(StreamAbort, UINT32, UINT32)
)
OUTSIDE = st.one_of(changes(st.none()), ORIGIN, TRANSACTION, STREAM_START, STREAM_END)
WITHIN = st.one_of(changes(UINT32), ORIGIN, st.just(StreamStop()))


@dataclass(frozen=True)
class Case:
    """A message in the place where a server would send it."""

    within_block: bool
    message: Message

    def decoder(self) -> Decoder:
        decoder = Decoder(2)
        if self.within_block:
            decoder.decode(encode(StreamStart(1, True)))
        return decoder


CASES = st.one_of(st.builds(Case, st.just(False), OUTSIDE), st.builds(Case, st.just(True), WITHIN))


@st.composite
def mutations(draw: st.DrawFn) -> tuple[Case, bytes]:
    """A valid message with some bytes overwritten, removed or added."""
    case = draw(CASES)
    data = bytearray(encode(case.message))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        data[start : start + draw(st.integers(0, 4))] = draw(st.binary(max_size=4))
    return case, bytes(data)


def as_views(data: bytes) -> Iterator[bytes | memoryview]:
    yield data
    yield memoryview(data)
    yield memoryview(bytearray(data))


@UNHURRIED
@given(CASES, st.binary(max_size=30))
def test_every_message_survives_the_line(case: Case, header: bytes) -> None:
    data = header + encode(case.message)
    for frame in as_views(data):
        assert outcome(case.decoder(), frame, len(header)) == (type(case.message), case.message)


@UNHURRIED
@given(CASES, st.data())
def test_a_truncated_message_is_refused(case: Case, data: st.DataObject) -> None:
    whole = encode(case.message)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    for frame in as_views(cut):
        with pytest.raises(DecodeError):
            case.decoder().decode(frame)


@UNHURRIED
@given(CASES, st.binary(min_size=1, max_size=20))
def test_bytes_behind_a_message_are_refused(case: Case, trailing: bytes) -> None:
    for frame in as_views(encode(case.message) + trailing):
        with pytest.raises(DecodeError):
            case.decoder().decode(frame)


@settings(UNHURRIED, max_examples=1_000)
@given(mutations())
def test_a_mutated_message_is_another_message_or_refused(mutation: tuple[Case, bytes]) -> None:
    case, data = mutation
    kind, found = outcome(case.decoder(), data)
    assert all(outcome(case.decoder(), frame) == (kind, found) for frame in as_views(data))
    if kind is not DecodeError:
        assert encode(found) == data  # type: ignore[arg-type]  # nothing was skipped: every byte is accounted for


@settings(UNHURRIED, max_examples=1_000)
@given(st.sampled_from([1, 2]), st.sampled_from(b"BCORYIUDTMSEcAbPKrp?"), st.binary(max_size=200), st.integers(0, 210))
def test_garbage_is_a_message_or_refused(version: int, kind: int, rest: bytes, offset: int) -> None:
    data = bytes([kind]) + rest
    assert outcome(Decoder(version), data)[0] in {DecodeError, *Message.__args__}
    assert outcome(Decoder(version), data, offset)[0] in {DecodeError, *Message.__args__}


@settings(UNHURRIED, max_examples=500)
@given(st.lists(st.binary(max_size=60), max_size=20))
def test_a_stream_of_garbage_never_breaks_the_decoder(frames: list[bytes]) -> None:
    decoder = Decoder(2)
    decoder.decode(encode(StreamStart(1, True)))
    for frame in frames:
        outcome(decoder, frame)
    outcome(decoder, b"E")
    assert decoder.decode(encode(Begin(1, MILLENNIUM_US, 1))) == Begin(1, MILLENNIUM_US, 1)


@UNHURRIED
@given(st.binary(max_size=100), st.integers(0, 110))
def test_any_bytes_are_a_row_or_refused(data: bytes, offset: int) -> None:
    try:
        row, end = decode_row(data, offset)
    except DecodeError:
        return
    assert data[offset:end] == encode_row(row)


@UNHURRIED
@given(st.lists(st.binary(min_size=4, max_size=30), min_size=1, max_size=5), st.integers(1, 3))
def test_refusals_never_show_values(values: list[bytes], missing: int) -> None:
    secrets = [b"secret-" + value.hex().encode() for value in values]
    data = encode(Insert(1, tuple(secrets)))
    for broken in (data[:-missing], data + secrets[0], data[:-1] + b"\xff\xff"):
        kind, text = outcome(Decoder(), broken)
        assume(kind is DecodeError)
        assert "secret" not in str(text)
