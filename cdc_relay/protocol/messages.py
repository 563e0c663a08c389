"""What pgoutput can say, as plain tuples; the field order follows the protocol's documentation where it can.

LSNs are ints, times microseconds since 1970 UTC. `xid` is set only inside a streamed block (protocol 2).
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal, NamedTuple

__all__ = [
    "UNCHANGED",
    "Begin",
    "Column",
    "Commit",
    "Delete",
    "Insert",
    "LogicalMessage",
    "Message",
    "Origin",
    "Relation",
    "Row",
    "StreamAbort",
    "StreamCommit",
    "StreamStart",
    "StreamStop",
    "Truncate",
    "Type",
    "Unchanged",
    "Update",
    "Value",
]


class Unchanged(Enum):
    """The type of UNCHANGED; an enum so that type checkers narrow on `value is UNCHANGED`."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED  # a TOASTed value that the update did not touch, so that it was not sent

Value = bytes | None | Unchanged
Row = tuple[Value, ...]


class Begin(NamedTuple):
    final_lsn: int
    commit_time_us: int
    xid: int


class Commit(NamedTuple):
    flags: int
    commit_lsn: int
    end_lsn: int
    commit_time_us: int


class Origin(NamedTuple):
    commit_lsn: int
    name: str


class Column(NamedTuple):
    name: str
    type_oid: int
    type_modifier: int
    is_key: bool


class Relation(NamedTuple):
    relation_id: int
    namespace: str  # empty for pg_catalog
    name: str
    replica_identity: str  # pg_class.relreplident: d, n, f or i
    columns: tuple[Column, ...]
    xid: int | None = None


class Type(NamedTuple):
    type_id: int
    namespace: str  # empty for pg_catalog
    name: str
    xid: int | None = None


class Insert(NamedTuple):
    relation_id: int
    row: Row
    xid: int | None = None


class Update(NamedTuple):
    relation_id: int
    old_kind: Literal["K", "O"] | None  # K: old_row has the key columns only; O: all of them
    old_row: Row | None
    row: Row
    xid: int | None = None


class Delete(NamedTuple):
    relation_id: int
    old_kind: Literal["K", "O"]
    old_row: Row
    xid: int | None = None


class Truncate(NamedTuple):
    relation_ids: tuple[int, ...]
    cascade: bool
    restart_identity: bool
    xid: int | None = None


class LogicalMessage(NamedTuple):
    transactional: bool
    lsn: int
    prefix: str
    content: bytes
    xid: int | None = None


class StreamStart(NamedTuple):
    xid: int
    first_segment: bool


class StreamStop(NamedTuple):
    pass


class StreamCommit(NamedTuple):
    xid: int
    flags: int
    commit_lsn: int
    end_lsn: int
    commit_time_us: int


class StreamAbort(NamedTuple):
    xid: int
    subxid: int  # equals xid when the whole transaction was rolled back


Message = (
    Begin
    | Commit
    | Origin
    | Relation
    | Type
    | Insert
    | Update
    | Delete
    | Truncate
    | LogicalMessage
    | StreamStart
    | StreamStop
    | StreamCommit
    | StreamAbort
)
