"""The decoder's tools: what is missing is named by its field and its place, and the usual messages need no tools."""

from __future__ import annotations

from struct import pack

import pytest

from cdc_relay.errors import DecodeError
from cdc_relay.protocol import pgoutput
from cdc_relay.protocol.cursor import Cursor
from cdc_relay.protocol.messages import UNCHANGED, Begin, Commit, Insert, LogicalMessage, Origin
from cdc_relay.protocol.pgoutput import Decoder, decode_row
from cdc_relay.protocol.rows import IRREGULAR, scan_row
from cdc_relay.protocol.wire import POSTGRES_EPOCH_US

TEXT = 0  # a name that ends in a zero byte
Fields = list[tuple[str, bytes, int]]  # what it is called, its bytes, how many are expected


def field(what: str, data: bytes) -> tuple[str, bytes, int]:
    return what, data, len(data)


def name(what: str, text: bytes) -> tuple[str, bytes, int]:
    return what, text + b"\0", TEXT


RELATION_ID = field("the relation id", pack(">I", 9))
MARKER = field("the tuple marker", b"N")
XID = field("the transaction id", pack(">I", 77))
COMMIT = [
    field("the flags", b"\0"),
    field("the commit LSN", pack(">Q", 10)),
    field("the end LSN", pack(">Q", 11)),
    field("the commit time", pack(">q", 5)),
]
MESSAGES: dict[str, tuple[bytes, Fields]] = {
    "Begin": (b"B", [field("the final LSN", pack(">Q", 10)), field("the commit time", pack(">q", 5)), XID]),
    "Commit": (b"C", COMMIT),
    "Origin": (b"O", [field("the commit LSN", pack(">Q", 10)), name("the origin's name", b"north")]),
    "Relation": (
        b"R",
        [
            RELATION_ID,
            name("the namespace", b"public"),
            name("the relation's name", b"outbox"),
            field("the replica identity", b"d"),
            field("the column count", b"\0\1"),
            field("the column's flags", b"\1"),
            name("the column's name", b"id"),
            field("the column's type", pack(">I", 20)),
            field("the type modifier", pack(">i", -1)),
        ],
    ),
    "Type": (b"Y", [field("the type id", pack(">I", 9)), name("the namespace", b""), name("the type's name", b"t")]),
    "Insert": (
        b"I",
        [
            RELATION_ID,
            MARKER,
            field("the column count", b"\0\2"),
            field("the kind of column 1 of 2", b"n"),
            field("the kind of column 2 of 2", b"t"),
            field("the length of column 2 of 2", pack(">I", 0)),
        ],
    ),
    "Update": (
        b"U",
        [
            RELATION_ID,
            field("the tuple marker", b"K"),
            field("the column count", b"\0\0"),
            MARKER,
            field("the column count", b"\0\0"),
        ],
    ),
    "Delete": (b"D", [RELATION_ID, field("the tuple marker", b"O"), field("the column count", b"\0\0")]),
    "Truncate": (b"T", [field("the relation count", pack(">I", 0)), field("the options", b"\0")]),
    "Message": (
        b"M",
        [
            field("the flags", b"\1"),
            field("the LSN", pack(">Q", 13)),
            name("the prefix", b"outbox"),
            field("the length of the content", pack(">i", 0)),
        ],
    ),
    "Stream Start": (b"S", [XID, field("the first-segment flag", b"\1")]),
    "Stream Commit": (b"c", [XID, *COMMIT]),
    "Stream Abort": (b"A", [XID, field("the subtransaction id", pack(">I", 78))]),
}
NOT_ASKED = "one: streaming was not asked for"
ENDING = "ending in a zero byte, found"
CUTS = [(title, place) for title, (_, fields) in MESSAGES.items() for place in range(len(fields))]


def refusal_of(data: bytes, decoder: Decoder | None = None) -> DecodeError:
    with pytest.raises(DecodeError) as refusal:
        (decoder or Decoder(2)).decode(data)
    return refusal.value


@pytest.mark.parametrize(("title", "place"), CUTS, ids=lambda value: str(value))
def test_a_message_that_ends_early_names_the_field_that_is_missing(title: str, place: int) -> None:
    kind, fields = MESSAGES[title]
    data = kind + b"".join(each[1] for each in fields[:place])
    what, _, size = fields[place]
    missing = f"{what} ({size} bytes), found 0 bytes left"
    if size == TEXT:
        missing = f"{what} ending in a zero byte, found none in the 0 bytes left"
    assert str(refusal_of(data)) == f"{title}: at byte {len(data)} expected {missing}"


@pytest.mark.parametrize("title", MESSAGES)
def test_a_message_that_goes_on_says_how_much_is_too_much(title: str) -> None:
    kind, fields = MESSAGES[title]
    data = kind + b"".join(each[1] for each in fields)
    expected = f"{title}: at byte {len(data)} expected the end of the message, found 2 more bytes"
    assert str(refusal_of(data + b"!!")) == expected


def test_the_transaction_of_a_streamed_change_is_named_when_it_is_missing() -> None:
    decoder = Decoder(2)
    decoder.decode(b"S" + pack(">IB", 77, 1))
    expected = "Insert: at byte 1 expected the transaction id (4 bytes), found 2 bytes left"
    assert str(refusal_of(b"I\0\0", decoder)) == expected


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"S" + bytes(5), f"Stream Start: at byte 0 expected no streamed transaction, found {NOT_ASKED}"),
        (b"T" + pack(">IBI", 2, 0, 9), "Truncate: at byte 1 expected at most 1 relations, found 2"),
        (b"T\0\0\0\1\0xxx", "Truncate: at byte 6 expected the relation id (4 bytes), found 3 bytes left"),
        (b"T" + pack(">IBII", 3, 0, 9, 10), "Truncate: at byte 1 expected at most 2 relations, found 3"),
        (b"D\0\0\0\x09\x80", "Delete: at byte 5 expected the tuple marker 'K' or 'O', found 0x80"),
        (b"b" + bytes(9), "Begin Prepare: at byte 0 expected no two-phase message, found 'b'"),
        (b"O" + bytes(8) + b"ab", f"Origin: at byte 9 expected the origin's name {ENDING} none in the 2 bytes left"),
    ],
)
def test_a_refusal_tells_all_of_it(data: bytes, complaint: str) -> None:
    assert refusal_of(data, Decoder(1)).message == complaint


def test_the_first_segment_of_a_stream_is_told_by_one_bit() -> None:
    expected = "Stream Start: at byte 5 expected the first-segment flag from 0 to 1, found 0x02"
    assert str(refusal_of(b"S" + pack(">IB", 77, 2))) == expected


def test_the_remedies_are_whole() -> None:
    assert refusal_of(b"b").remedy == "the slot was made with two_phase: drop it and create it again without"
    binary = refusal_of(b"I" + pack(">I", 9) + b"N\0\1b")
    assert binary.remedy == "start the replication without the option binary"


# --- the usual messages


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"I" + pack(">I", 9) + b"N\0\0", Insert(9, ())),
        (b"I" + pack(">I", 9) + b"N\0\1t\0\0\0\1x", Insert(9, (b"x",))),
        (b"B" + pack(">QqI", 10, 5, 7), Begin(10, POSTGRES_EPOCH_US + 5, 7)),
        (b"C\0" + pack(">QQq", 10, 11, 5), Commit(0, 10, 11, POSTGRES_EPOCH_US + 5)),
    ],
    ids=["the smallest insert", "insert", "begin", "commit"],
)
def test_a_usual_message_is_read_without_the_careful_path(
    data: bytes, message: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which takes several times as long."""
    monkeypatch.setattr(pgoutput, "Cursor", lambda *_, **__: pytest.fail("the careful path"))
    assert Decoder().decode(b"xx" + data, 2) == message


def test_a_row_that_only_one_of_two_readers_refuses_is_a_defect_and_says_so() -> None:
    cursor = Cursor(b"\0\1n", 0, name="Row")
    with pytest.raises(DecodeError) as refusal:
        cursor._refuse_row()
    found = "one that it refuses: a defect of the decoder"
    assert str(refusal.value) == f"Row: at byte 3 expected a row that scan_row accepts, found {found}"


# --- rows


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"\0\1",
        b"\0\1t",
        b"\0\1t\0\0\0",
        b"\0\1t\0\0\0\1",
        b"\0\2nt\0\0\0\2x",
        b"\0\1b\0\0\0\1x",
        b"\0\1t\xff\xff\xff\xff",
    ],
)
def test_a_row_that_is_not_whole_is_irregular(data: bytes) -> None:
    for frame in (data, memoryview(data)):
        assert scan_row(frame, 0) == IRREGULAR == ((), -1)


@pytest.mark.parametrize("offset", [0, 3])
def test_a_row_ends_where_its_last_value_does(offset: int) -> None:
    row = b"\0\4t\0\0\0\2abnut\0\0\0\0"
    data = bytes(offset) + row + b"rest"
    assert scan_row(data, offset) == ((b"ab", None, UNCHANGED, b""), offset + len(row))
    assert decode_row(memoryview(data), offset) == ((b"ab", None, UNCHANGED, b""), offset + len(row))


# --- numbers and names


def test_numbers_are_big_endian_and_of_their_own_size() -> None:
    cursor = Cursor(bytes(range(1, 28)), 0, name="Numbers")
    assert (cursor.uint8("a"), cursor.uint16("b"), cursor.uint32("c")) == (0x01, 0x0203, 0x04050607)
    assert cursor.uint64("d") == 0x08090A0B0C0D0E0F
    assert (cursor.int32("e"), cursor.int64("f")) == (0x10111213, 0x1415161718191A1B)
    assert cursor.left == 0


def test_counted_bytes_are_as_many_as_their_length_says() -> None:
    cursor = Cursor(b"x\0\0\0\2abc", 1, name="Bytes")
    assert (cursor.counted_bytes("it"), cursor.left) == (b"ab", 1)


def test_signed_numbers_may_be_negative() -> None:
    cursor = Cursor(b"\xff" * 12, 0, name="Numbers")
    assert (cursor.int32("a"), cursor.int64("b")) == (-1, -1)


def test_a_position_behind_the_end_has_nothing_left() -> None:
    cursor = Cursor(b"abc", 5, name="Numbers")
    assert cursor.left == 0
    with pytest.raises(DecodeError, match=r"at byte 0 expected it \(1 bytes\), found 0 bytes left"):
        cursor.uint8("it")


@pytest.mark.parametrize("length", [0, 1, 254, 255, 256, 257, 2046, 2047, 2048, 2049, 20_000])
def test_a_name_of_any_length_is_read_to_its_zero_byte_and_no_further(length: int) -> None:
    data = b"O" + pack(">Q", 12) + b"n" * length + b"\0"
    assert Decoder().decode(data) == Origin(12, "n" * length)
    assert f"the {length} bytes left" in str(refusal_of(data[:-1]))
    assert "found 1 more bytes" in str(refusal_of(data + b"\0"))


def test_a_name_is_no_longer_than_the_first_of_two_zero_bytes() -> None:
    data = b"M\1" + pack(">Q", 13) + b"a\0" + pack(">i", 2) + b"\0b"
    assert Decoder().decode(data) == LogicalMessage(True, 13, "a", b"\0b")


def test_a_name_that_is_not_utf8_is_refused_where_it_begins() -> None:
    data = b"M\1" + pack(">Q", 13) + b"ab\xff\0"
    assert str(refusal_of(data)) == "Message: at byte 10 expected the prefix, found bytes that are not UTF-8"


@pytest.mark.parametrize("length", [-1, 3])
def test_a_length_that_cannot_be_is_refused_where_it_stands(length: int) -> None:
    data = b"M\1" + pack(">Q", 13) + b"\0" + pack(">i", length) + b"ab"
    expected = f"Message: at byte 11 expected the length of the content from 0 to 2, found {length}"
    assert str(refusal_of(data)) == expected
