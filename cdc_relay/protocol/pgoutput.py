"""pgoutput, protocol 1 and 2: the bytes of one message -> a Message, or a DecodeError that says where it went wrong.

Owns what each message type is made of. Keeps one bit per connection: whether we are between Stream Start and Stream
Stop, where changes carry their transaction id. Any bytes give a Message or a DecodeError, never anything else.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Literal, cast

from cdc_relay.errors import DecodeError
from cdc_relay.protocol.cursor import Cursor
from cdc_relay.protocol.messages import (
    Begin,
    Column,
    Commit,
    Delete,
    Insert,
    LogicalMessage,
    Message,
    Origin,
    Relation,
    Row,
    StreamAbort,
    StreamCommit,
    StreamStart,
    StreamStop,
    Truncate,
    Type,
    Update,
)
from cdc_relay.protocol.rows import scan_row
from cdc_relay.protocol.wire import POSTGRES_EPOCH_US

__all__ = ["Decoder", "decode_row"]

_INSERT_HEAD = Struct(">BIB").unpack_from
_BEGIN = Struct(">QqI").unpack_from
_COMMIT = Struct(">QQq").unpack_from

_Xid = int | None
_OldKind = Literal["K", "O"]


class Decoder:
    """One per START_REPLICATION: a new stream starts outside of any block."""

    __slots__ = ("_in_block", "_protocol_version")

    def __init__(self, protocol_version: int = 1) -> None:
        if protocol_version not in (1, 2):
            raise DecodeError(f"this decoder reads pgoutput protocol 1 and 2, not {protocol_version}")
        self._protocol_version = protocol_version
        self._in_block = False

    def decode(self, data: bytes | memoryview, offset: int = 0) -> Message:
        """`data` is a whole copy-data frame; its message runs from `offset` to the end."""
        if not self._in_block and (message := _scan(data, offset)) is not None:
            return message
        return self._decode_any(Cursor(data, offset, name="pgoutput message"))

    def _decode_any(self, cursor: Cursor) -> Message:
        kind = chr(cursor.uint8("a message type"))
        if kind not in _READERS:
            raise _unknown_kind(cursor, kind)
        cursor.name, read = _READERS[kind]
        self._check_place(cursor, kind)
        xid = cursor.uint32("the transaction id") if self._in_block and kind in "RYIUDTM" else None
        message = read(cursor, xid)
        cursor.finish()
        if kind in "SE":
            self._in_block = kind == "S"
        return message

    def _check_place(self, cursor: Cursor, kind: str) -> None:
        if kind in "SEcA" and self._protocol_version < 2:
            raise cursor.error("no streamed transaction", "one: streaming was not asked for", back=1)
        if self._in_block and kind in "BCScA":
            raise cursor.error("Stream Stop before it", "an open stream block", back=1)
        if not self._in_block and kind == "E":
            raise cursor.error("an open stream block", "none", back=1)


def decode_row(data: bytes | memoryview, offset: int) -> tuple[Row, int]:
    """The row (TupleData) that starts at `offset`, and the offset behind it."""
    row, end = scan_row(data, offset)
    if end < 0:
        Cursor(data, offset, name="Row").row()
    return row, end


def _scan(data: bytes | memoryview, offset: int) -> Insert | Begin | Commit | None:
    """The hot path: the messages of an outbox's transaction if they are regular. None: the careful path decides."""
    size = len(data) - offset
    if size < 8:
        return None
    kind, relation_id, marker = _INSERT_HEAD(data, offset)
    if kind == 0x49 and marker == 0x4E:  # 'I' and 'N'
        row, end = scan_row(data, offset + 6)
        # the tuple's own constructor: Insert(...) costs 160 ns more
        return tuple.__new__(Insert, (relation_id, row, None)) if end == len(data) else None
    if kind == 0x42 and size == 21:  # 'B'
        final_lsn, time, xid = _BEGIN(data, offset + 1)
        return Begin(final_lsn, time + POSTGRES_EPOCH_US, xid)
    if kind == 0x43 and size == 26 and data[offset + 1] == 0:  # 'C', no flags
        commit_lsn, end_lsn, time = _COMMIT(data, offset + 2)
        return Commit(0, commit_lsn, end_lsn, time + POSTGRES_EPOCH_US)
    return None


def _unknown_kind(cursor: Cursor, kind: str) -> DecodeError:
    if kind in _TWO_PHASE:
        cursor.name = _TWO_PHASE[kind]
        remedy = "the slot was made with two_phase: drop it and create it again without"
        return cursor.error("no two-phase message", repr(kind), back=1, remedy=remedy)
    return cursor.error("a message type of protocol 1 or 2", f"{ord(kind):#04x}", back=1)


def _time_us(cursor: Cursor) -> int:
    return cursor.int64("the commit time") + POSTGRES_EPOCH_US


def _relation_id(cursor: Cursor) -> int:
    return cursor.uint32("the relation id")


def _read_begin(cursor: Cursor, _: _Xid) -> Begin:
    return Begin(cursor.uint64("the final LSN"), _time_us(cursor), cursor.uint32("the transaction id"))


def _read_commit(cursor: Cursor, _: _Xid) -> Commit:
    flags = cursor.bits(0, "the flags")
    return Commit(flags, cursor.uint64("the commit LSN"), cursor.uint64("the end LSN"), _time_us(cursor))


def _read_origin(cursor: Cursor, _: _Xid) -> Origin:
    return Origin(cursor.uint64("the commit LSN"), cursor.string("the origin's name"))


def _read_relation(cursor: Cursor, xid: _Xid) -> Relation:
    relation_id = _relation_id(cursor)
    namespace, name = cursor.string("the namespace"), cursor.string("the relation's name")
    replica_identity = cursor.one_of("dnfi", "the replica identity")
    column_count = cursor.uint16("the column count")
    columns = tuple(_read_column(cursor) for _ in range(column_count))
    return Relation(relation_id, namespace, name, replica_identity, columns, xid)


def _read_column(cursor: Cursor) -> Column:
    is_key = cursor.bits(1, "the column's flags") == 1
    name = cursor.string("the column's name")
    return Column(name, cursor.uint32("the column's type"), cursor.int32("the type modifier"), is_key)


def _read_type(cursor: Cursor, xid: _Xid) -> Type:
    type_id = cursor.uint32("the type id")
    return Type(type_id, cursor.string("the namespace"), cursor.string("the type's name"), xid)


def _read_insert(cursor: Cursor, xid: _Xid) -> Insert:
    relation_id = _relation_id(cursor)
    cursor.one_of("N", "the tuple marker")
    return Insert(relation_id, cursor.row(), xid)


def _read_update(cursor: Cursor, xid: _Xid) -> Update:
    relation_id = _relation_id(cursor)
    marker = cursor.one_of("KON", "the tuple marker")
    if marker == "N":
        return Update(relation_id, None, None, cursor.row(), xid)
    old_row = cursor.row()
    cursor.one_of("N", "the tuple marker")
    return Update(relation_id, cast(_OldKind, marker), old_row, cursor.row(), xid)


def _read_delete(cursor: Cursor, xid: _Xid) -> Delete:
    relation_id = _relation_id(cursor)
    marker = cursor.one_of("KO", "the tuple marker")
    return Delete(relation_id, cast(_OldKind, marker), cursor.row(), xid)


def _read_truncate(cursor: Cursor, xid: _Xid) -> Truncate:
    count = cursor.uint32("the relation count")
    if count * 4 > cursor.left:
        raise cursor.error(f"at most {cursor.left // 4} relations", str(count), back=4)
    options = cursor.bits(3, "the options")
    relation_ids = tuple(_relation_id(cursor) for _ in range(count))
    return Truncate(relation_ids, bool(options & 1), bool(options & 2), xid)


def _read_logical_message(cursor: Cursor, xid: _Xid) -> LogicalMessage:
    transactional = cursor.bits(1, "the flags") == 1
    lsn, prefix = cursor.uint64("the LSN"), cursor.string("the prefix")
    return LogicalMessage(transactional, lsn, prefix, cursor.counted_bytes("the content"), xid)


def _read_stream_start(cursor: Cursor, _: _Xid) -> StreamStart:
    return StreamStart(cursor.uint32("the transaction id"), cursor.bits(1, "the first-segment flag") == 1)


def _read_stream_stop(_cursor: Cursor, _: _Xid) -> StreamStop:
    return StreamStop()


def _read_stream_commit(cursor: Cursor, _: _Xid) -> StreamCommit:
    xid = cursor.uint32("the transaction id")
    return StreamCommit(xid, *_read_commit(cursor, None))


def _read_stream_abort(cursor: Cursor, _: _Xid) -> StreamAbort:
    return StreamAbort(cursor.uint32("the transaction id"), cursor.uint32("the subtransaction id"))


_READERS: dict[str, tuple[str, Callable[[Cursor, _Xid], Message]]] = {
    "B": ("Begin", _read_begin),
    "C": ("Commit", _read_commit),
    "O": ("Origin", _read_origin),
    "R": ("Relation", _read_relation),
    "Y": ("Type", _read_type),
    "I": ("Insert", _read_insert),
    "U": ("Update", _read_update),
    "D": ("Delete", _read_delete),
    "T": ("Truncate", _read_truncate),
    "M": ("Message", _read_logical_message),
    "S": ("Stream Start", _read_stream_start),
    "E": ("Stream Stop", _read_stream_stop),
    "c": ("Stream Commit", _read_stream_commit),
    "A": ("Stream Abort", _read_stream_abort),
}
_TWO_PHASE = {
    "b": "Begin Prepare",
    "P": "Prepare",
    "K": "Commit Prepared",
    "r": "Rollback Prepared",
    "p": "Stream Prepare",
}
