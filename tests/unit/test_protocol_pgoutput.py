"""Each message type against bytes written by hand from the protocol's documentation, and each way to refuse one."""

from __future__ import annotations

from datetime import UTC, datetime
from struct import pack

import pytest

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

MILLENNIUM_US = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
ROW = b"\x00\x03" + b"t\x00\x00\x00\x02ab" + b"n" + b"u"
VALUES = (b"ab", None, UNCHANGED)
STREAM_START = b"S" + pack(">IB", 77, 1)

TRANSACTION = {
    "begin": (b"B" + pack(">QqI", 2**64 - 1, 5, 2**32 - 1), Begin(2**64 - 1, MILLENNIUM_US + 5, 2**32 - 1)),
    "commit": (b"C\x00" + pack(">QQq", 10, 11, -5), Commit(0, 10, 11, MILLENNIUM_US - 5)),
}
ORIGIN = (b"O" + pack(">Q", 12) + b"north\x00", Origin(12, "north"))
STREAM = {
    "stream start": (STREAM_START, StreamStart(77, True)),
    "later stream start": (b"S" + pack(">IB", 77, 0), StreamStart(77, False)),
    "stream commit": (
        b"c" + pack(">IBQQq", 77, 0, 10, 11, 5),
        StreamCommit(77, 0, 10, 11, MILLENNIUM_US + 5),
    ),
    "stream abort": (b"A" + pack(">II", 77, 78), StreamAbort(77, 78)),
}
CHANGES: dict[str, tuple[bytes, bytes, Message]] = {
    "relation": (
        b"R",
        pack(">I", 9) + b"public\x00\xc3\xb6rders\x00" + b"d"
        b"\x00\x02" + b"\x01id\x00" + pack(">Ii", 20, -1) + b"\x00note\x00" + pack(">Ii", 1043, 68),
        Relation(9, "public", "örders", "d", (Column("id", 20, -1, True), Column("note", 1043, 68, False))),
    ),
    "relation of pg_catalog": (b"R", pack(">I", 9) + b"\x00t\x00n\x00\x00", Relation(9, "", "t", "n", ())),
    "type": (b"Y", pack(">I", 2**32 - 1) + b"public\x00mood\x00", Type(2**32 - 1, "public", "mood")),
    "insert": (b"I", pack(">I", 9) + b"N" + ROW, Insert(9, VALUES)),
    "insert without columns": (b"I", pack(">I", 9) + b"N\x00\x00", Insert(9, ())),
    "insert of an empty text": (b"I", pack(">I", 9) + b"N\x00\x01t\x00\x00\x00\x00", Insert(9, (b"",))),
    "update": (b"U", pack(">I", 9) + b"N" + ROW, Update(9, None, None, VALUES)),
    "update with the old key": (
        b"U",
        pack(">I", 9) + b"K\x00\x01t\x00\x00\x00\x01x" + b"N" + ROW,
        Update(9, "K", (b"x",), VALUES),
    ),
    "update with the old row": (b"U", pack(">I", 9) + b"O\x00\x01nN" + ROW, Update(9, "O", (None,), VALUES)),
    "delete by key": (b"D", pack(">I", 9) + b"K" + ROW, Delete(9, "K", VALUES)),
    "delete of a row": (b"D", pack(">I", 9) + b"O" + ROW, Delete(9, "O", VALUES)),
    "truncate": (b"T", pack(">IBII", 2, 0, 9, 10), Truncate((9, 10), False, False)),
    "truncate cascade": (b"T", pack(">IBI", 1, 1, 9), Truncate((9,), True, False)),
    "truncate restart identity": (b"T", pack(">IBI", 1, 2, 9), Truncate((9,), False, True)),
    "message": (
        b"M",
        b"\x01" + pack(">Q", 13) + b"outbox\x00" + pack(">i", 3) + b"\x00\xff{",
        LogicalMessage(True, 13, "outbox", b"\x00\xff{"),
    ),
    "message outside of transactions": (
        b"M",
        b"\x00" + pack(">Q", 13) + b"\x00\x00\x00\x00\x00",
        LogicalMessage(False, 13, "", b""),
    ),
}


def within_block() -> Decoder:
    decoder = Decoder(2)
    decoder.decode(STREAM_START)
    return decoder


def refusal_of(data: bytes, decoder: Decoder | None = None) -> DecodeError:
    with pytest.raises(DecodeError) as refusal:
        (decoder or Decoder()).decode(data)
    return refusal.value


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("data", "message"),
    [*TRANSACTION.values(), ORIGIN, *((kind + body, message) for kind, body, message in CHANGES.values())],
    ids=[*TRANSACTION, "origin", *CHANGES],
)
def test_message_as_documented(data: bytes, message: Message, version: int) -> None:
    decoded = Decoder(version).decode(data)
    assert decoded == message
    assert type(decoded) is type(message)


@pytest.mark.parametrize(("kind", "body", "message"), CHANGES.values(), ids=CHANGES)
def test_change_within_a_stream_block_carries_its_transaction(kind: bytes, body: bytes, message: Message) -> None:
    decoded = within_block().decode(kind + pack(">I", 78) + body)
    assert decoded == message._replace(xid=78)  # type: ignore[call-arg]  # every change has one
    assert type(decoded) is type(message)


@pytest.mark.parametrize(("data", "message"), STREAM.values(), ids=STREAM)
def test_stream_message_as_documented(data: bytes, message: Message) -> None:
    assert Decoder(2).decode(data) == message


def test_origin_within_a_stream_block_has_no_transaction_id() -> None:
    assert within_block().decode(ORIGIN[0]) == ORIGIN[1]


def test_stream_stop_ends_the_block() -> None:
    decoder = within_block()
    assert decoder.decode(b"E") == StreamStop()
    assert decoder.decode(b"I" + pack(">I", 9) + b"N" + ROW) == Insert(9, VALUES)


def test_a_refused_message_leaves_the_block_as_it_was() -> None:
    decoder = within_block()
    assert "Stream Stop: at byte 1 expected the end" in str(refusal_of(b"E!", decoder))
    assert decoder.decode(b"E") == StreamStop()
    refusal_of(STREAM_START + b"!", decoder)
    assert decoder.decode(TRANSACTION["begin"][0]) == TRANSACTION["begin"][1]


def test_message_starts_at_the_offset_and_errors_count_from_there() -> None:
    data = b"x" * 25 + b"I" + pack(">I", 9)
    assert Decoder().decode(data + b"N" + ROW, 25) == Insert(9, VALUES)
    with pytest.raises(DecodeError, match="Insert: at byte 5 expected the tuple marker 'N', found 0x41"):
        Decoder().decode(data + b"A" + ROW, 25)


def test_row_stands_alone_and_says_where_it_ends() -> None:
    assert decode_row(b"xx" + ROW + b"rest", 2) == (VALUES, 2 + len(ROW))
    with pytest.raises(DecodeError, match="Row: at byte 2 expected the kind of column 1 of 3"):
        decode_row(b"xx\x00\x03", 2)


def test_values_of_a_memoryview_are_bytes_of_their_own() -> None:
    buffer = bytearray(b"I" + pack(">I", 9) + b"N" + ROW)
    decoded = Decoder().decode(memoryview(buffer))
    buffer[:] = bytes(len(buffer))
    assert decoded == Insert(9, VALUES)
    assert isinstance(decoded, Insert)
    assert type(decoded.row[0]) is bytes


def test_long_names_are_read_to_their_end() -> None:
    prefix = "p" * 5_000
    data = b"M\x01" + pack(">Q", 13) + prefix.encode() + b"\x00" + pack(">i", 1) + b"c"
    for frame in (data, memoryview(data)):
        assert Decoder().decode(frame) == LogicalMessage(True, 13, prefix, b"c")


INSERT = b"I" + pack(">I", 9) + b"N"
TEXT = b"t\x00\x00\x00\x02ab"


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "pgoutput message: at byte 0 expected a message type (1 bytes), found 0 bytes left"),
        (b"?", "pgoutput message: at byte 0 expected a message type of protocol 1 or 2, found 0x3f"),
        (b"\xff" * 40, "at byte 0 expected a message type of protocol 1 or 2, found 0xff"),
        (b"B" + bytes(19), "Begin: at byte 17 expected the transaction id (4 bytes), found 3 bytes left"),
        (b"B" + bytes(21), "Begin: at byte 21 expected the end of the message, found 1 more bytes"),
        (b"C\x01" + bytes(24), "Commit: at byte 1 expected the flags from 0 to 0, found 0x01"),
        (b"O" + bytes(8) + b"north", "Origin: at byte 9 expected the origin's name ending in a zero byte, found none"),
        (b"Y" + bytes(4) + b"\xff\x00t\x00", "Type: at byte 5 expected the namespace, found bytes that are not UTF-8"),
        (b"R" + bytes(6) + b"x", "Relation: at byte 7 expected the replica identity 'd' or 'n' or 'f' or 'i'"),
        (b"R" + bytes(6) + b"d\xff\xff", "Relation: at byte 10 expected the column's flags (1 bytes), found 0"),
        (
            b"R" + bytes(6) + b"d\x00\x01\x02",
            "Relation: at byte 10 expected the column's flags from 0 to 1, found 0x02",
        ),
        (b"I\x00", "Insert: at byte 1 expected the relation id (4 bytes), found 1 bytes left"),
        (INSERT, "Insert: at byte 6 expected the column count (2 bytes), found 0 bytes left"),
        (INSERT + b"\x00\x02" + TEXT, "Insert: at byte 15 expected the kind of column 2 of 2 (1 bytes), found 0"),
        (INSERT + b"\x00\x01t\x00\x00", "Insert: at byte 9 expected the length of column 1 of 1 (4 bytes), found 2"),
        (
            INSERT + b"\x00\x01" + TEXT[:-1],
            "Insert: at byte 9 expected the length of column 1 of 1 from 0 to 1, found 2",
        ),
        (INSERT + b"\x00\x01t\xff\xff\xff\xff", "expected the length of column 1 of 1 from 0 to 0, found -1"),
        (INSERT + b"\x00\x01t\x7f\xff\xff\xffab", "the length of column 1 of 1 from 0 to 2, found 2147483647"),
        (INSERT + b"\x00\x01x", "Insert: at byte 8 expected the kind of column 1 of 1: 't', 'n' or 'u', found 0x78"),
        (INSERT + b"\x00\x01" + TEXT + b"!", "Insert: at byte 15 expected the end of the message, found 1 more bytes"),
        (INSERT + b"\xff\xff" + b"n" * 9, "Insert: at byte 17 expected the kind of column 10 of 65535"),
        (b"U" + bytes(4) + b"X", "Update: at byte 5 expected the tuple marker 'K' or 'O' or 'N', found 0x58"),
        (b"U" + bytes(4) + b"K\x00\x00O", "Update: at byte 8 expected the tuple marker 'N', found 0x4f"),
        (b"D" + bytes(4) + b"N", "Delete: at byte 5 expected the tuple marker 'K' or 'O', found 0x4e"),
        (b"T" + b"\xff" * 4 + b"\x00", "Truncate: at byte 1 expected at most 0 relations, found 4294967295"),
        (b"T" + pack(">IB", 0, 4), "Truncate: at byte 5 expected the options from 0 to 3, found 0x04"),
        (b"M\x02" + bytes(20), "Message: at byte 1 expected the flags from 0 to 1, found 0x02"),
        (
            b"M\x00" + bytes(9) + b"\xff" * 4,
            "Message: at byte 11 expected the length of the content from 0 to 0, found -1",
        ),
        (STREAM_START, "Stream Start: at byte 0 expected no streamed transaction"),
        (b"E", "Stream Stop: at byte 0 expected no streamed transaction"),
    ],
)
def test_refusal_names_message_place_and_expectation(data: bytes, complaint: str) -> None:
    assert complaint in str(refusal_of(data))


@pytest.mark.parametrize("data", [TRANSACTION["begin"][0], TRANSACTION["commit"][0], *(d for d, _ in STREAM.values())])
def test_nothing_but_changes_within_a_stream_block(data: bytes) -> None:
    refusal = str(refusal_of(data, within_block()))
    assert refusal.endswith(": at byte 0 expected Stream Stop before it, found an open stream block")


def test_stream_stop_needs_a_block() -> None:
    assert "Stream Stop: at byte 0 expected an open stream block, found none" in str(refusal_of(b"E", Decoder(2)))


def test_binary_columns_are_refused_with_the_remedy() -> None:
    refusal = refusal_of(INSERT + b"\x00\x01b\x00\x00\x00\x01x")
    assert "Insert: at byte 8 expected column 1 of 1 as text, found 'b': binary was not asked for" in refusal.message
    assert "without the option binary" in refusal.remedy


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (b"b", "Begin Prepare"),
        (b"P", "Prepare"),
        (b"K", "Commit Prepared"),
        (b"r", "Rollback Prepared"),
        (b"p", "Stream Prepare"),
    ],
)
def test_two_phase_is_recognised_and_refused(kind: bytes, name: str, version: int) -> None:
    refusal = refusal_of(kind + bytes(40), Decoder(version))
    assert refusal.message.startswith(f"{name}: at byte 0 expected no two-phase message")
    assert "two_phase" in refusal.remedy


def test_other_protocol_versions_are_refused() -> None:
    with pytest.raises(DecodeError, match="protocol 1 and 2, not 4"):
        Decoder(4)
