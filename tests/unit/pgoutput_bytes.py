"""Messages as the bytes that a server would send, and what the decoder says of any bytes. Built with struct alone."""

from __future__ import annotations

from struct import pack

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
    Row,
    StreamAbort,
    StreamCommit,
    StreamStart,
    StreamStop,
    Truncate,
    Type,
    Update,
    Value,
)
from cdc_relay.protocol.pgoutput import Decoder

__all__ = ["MILLENNIUM_US", "encode", "encode_row", "outcome"]

MILLENNIUM_US = 946_684_800_000_000


def encode_value(value: Value) -> bytes:
    if value is None:
        return b"n"
    return b"u" if value is UNCHANGED else b"t" + pack(">i", len(value)) + value


def encode_row(row: Row) -> bytes:
    return pack(">H", len(row)) + b"".join(map(encode_value, row))


def encode_name(name: str) -> bytes:
    return name.encode() + b"\0"


def encode_column(column: Column) -> bytes:
    place = pack(">Ii", column.type_oid, column.type_modifier)
    return bytes([column.is_key]) + encode_name(column.name) + place


def encode(message: Message) -> bytes:
    """The bytes that a server would send; the transaction id of streamed changes comes right after the type."""
    match message:
        case Begin(lsn, time, xid):
            return b"B" + pack(">QqI", lsn, time - MILLENNIUM_US, xid)
        case Commit(flags, lsn, end, time):
            return b"C" + pack(">BQQq", flags, lsn, end, time - MILLENNIUM_US)
        case Origin(lsn, name):
            return b"O" + pack(">Q", lsn) + encode_name(name)
        case StreamStart(xid, first):
            return b"S" + pack(">I?", xid, first)
        case StreamStop():
            return b"E"
        case StreamCommit(xid, flags, lsn, end, time):
            return b"c" + pack(">IBQQq", xid, flags, lsn, end, time - MILLENNIUM_US)
        case StreamAbort(xid, subxid):
            return b"A" + pack(">II", xid, subxid)
        case _:
            kind, body = encode_change(message)
            return kind + (b"" if message.xid is None else pack(">I", message.xid)) + body


def encode_change(
    message: Relation | Type | Insert | Update | Delete | Truncate | LogicalMessage,
) -> tuple[bytes, bytes]:
    match message:
        case Relation(oid, namespace, name, identity, columns):
            head = pack(">I", oid) + encode_name(namespace) + encode_name(name) + identity.encode()
            return b"R", head + pack(">H", len(columns)) + b"".join(map(encode_column, columns))
        case Type(oid, namespace, name):
            return b"Y", pack(">I", oid) + encode_name(namespace) + encode_name(name)
        case Insert(oid, row):
            return b"I", pack(">I", oid) + b"N" + encode_row(row)
        case Update(oid, old_kind, old_row, row):
            old = b"" if old_row is None else (old_kind or "").encode() + encode_row(old_row)
            return b"U", pack(">I", oid) + old + b"N" + encode_row(row)
        case Delete(oid, old_kind, old_row):
            return b"D", pack(">I", oid) + old_kind.encode() + encode_row(old_row)
        case Truncate(oids, cascade, restart):
            return b"T", pack(f">IB{len(oids)}I", len(oids), cascade | restart << 1, *oids)
        case LogicalMessage(transactional, lsn, prefix, content):
            return b"M", pack(">?Q", transactional, lsn) + encode_name(prefix) + pack(">i", len(content)) + content


def outcome(decoder: Decoder, data: bytes | memoryview, offset: int = 0) -> tuple[type, object]:
    """The message and its type (tuples of other types may be equal), or what the refusal says."""
    try:
        message = decoder.decode(data, offset)
    except DecodeError as refusal:
        return DecodeError, str(refusal)
    return type(message), message
