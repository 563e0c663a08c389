"""Copy-data frames as a walsender would send them, built with struct alone."""

from __future__ import annotations

from struct import pack

__all__ = ["begin", "commit", "insert", "keepalive", "message", "relation", "xlog"]

EPOCH_US = 946_684_800_000_000
OUTBOX_COLUMNS = ("id", "aggregatetype", "aggregateid", "type", "payload")


def xlog(message: bytes, *, lsn: int = 0, sent_us: int = EPOCH_US) -> bytes:
    return b"w" + pack(">QQq", lsn, lsn, sent_us - EPOCH_US) + message


def keepalive(wal_end: int, *, reply: bool = False) -> bytes:
    return b"k" + pack(">QqB", wal_end, 0, reply)


def begin(commit_lsn: int, *, time_us: int = EPOCH_US, xid: int = 7, sent_us: int = EPOCH_US) -> bytes:
    return xlog(b"B" + pack(">QqI", commit_lsn, time_us - EPOCH_US, xid), lsn=commit_lsn, sent_us=sent_us)


def commit(end_lsn: int, *, time_us: int = EPOCH_US, sent_us: int = EPOCH_US) -> bytes:
    body = pack(">BQQq", 0, end_lsn - 1, end_lsn, time_us - EPOCH_US)
    return xlog(b"C" + body, lsn=end_lsn, sent_us=sent_us)


def relation(
    relation_id: int = 1,
    *,
    schema: str = "public",
    name: str = "outbox",
    columns: tuple[str, ...] = OUTBOX_COLUMNS,
    type_oid: int = 25,
) -> bytes:
    body = b"R" + pack(">I", relation_id) + schema.encode() + b"\0" + name.encode() + b"\0d" + pack(">H", len(columns))
    for column in columns:
        body += b"\0" + column.encode() + b"\0" + pack(">Ii", type_oid, -1)
    return xlog(body)


def insert(*values: bytes | None, relation_id: int = 1, sent_us: int = EPOCH_US) -> bytes:
    body = b"I" + pack(">I", relation_id) + b"N" + pack(">H", len(values))
    for value in values:
        body += b"n" if value is None else b"t" + pack(">I", len(value)) + value
    return xlog(body, sent_us=sent_us)


def message(
    content: bytes, *, prefix: str = "outbox", lsn: int = 0, transactional: bool = True, sent_us: int = EPOCH_US
) -> bytes:
    head = b"M" + pack(">BQ", transactional, lsn) + prefix.encode() + b"\0"
    return xlog(head + pack(">I", len(content)) + content, lsn=lsn, sent_us=sent_us)
