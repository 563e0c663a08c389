"""Rows on their way from a table: each with its place and with what is known of the transaction that wrote it. Pure."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from cdc_relay.model import Transaction
from cdc_relay.replay.position import Position
from cdc_relay.replay.table import ReplayTable
from cdc_relay.routing.fields import Values

__all__ = ["Page", "Replayed", "TableRow", "parse_tid", "read_time_us", "row_identity"]

_TID = re.compile(rb"\((\d+),(\d+)\)")
_LAST_US = 253_402_300_800_000_000  # the year 10000: neither Kafka nor ISO 8601 knows a later one


class TableRow(NamedTuple):
    values: Values
    leaf: int
    tid: bytes
    xid: int
    time_us: int  # 0: nobody knows
    size_bytes: int
    behind: Position = Position()  # it, and all before it


@dataclass(slots=True)
class Page:
    table: ReplayTable
    end: Position  # behind all of its rows
    rows: list[TableRow] = field(default_factory=list)
    missing_ids: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    read_at_us: int = 0  # by the server's clock, before the first row was; 0: nothing counts as due


class Replayed(Transaction):
    """Of one row: the table does not tell what else its transaction wrote, nor where in the WAL."""

    __slots__ = ("batch", "run", "run_row")

    def __init__(self, *, run: str, run_row: bytes, commit_time_us: int, xid: int, batch: object) -> None:
        super().__init__(commit_lsn=0, commit_time_us=commit_time_us, xid=xid)
        self.run = run
        self.run_row = run_row
        self.batch = batch

    def __str__(self) -> str:
        return f"run {self.run}"


def row_identity(row: TableRow, event_id: bytes | None, *, is_unique: bool) -> bytes:
    """The event id, and where ids may repeat or be NULL the row's place too. Hashed: an id may be of any length."""
    place = b"" if is_unique and event_id is not None else b"%d %s" % (row.leaf, row.tid)
    return hashlib.sha256(b"%s %s" % (place, b"" if event_id is None else event_id)).digest()


def parse_tid(tid: bytes) -> tuple[int, int]:
    match = _TID.fullmatch(tid)
    assert match is not None  # Postgres' own spelling
    return int(match[1]), int(match[2])


def read_time_us(printed: bytes | None) -> int:
    if printed is None:
        return 0
    try:
        time_us = int(Decimal(printed.decode()))
    except (InvalidOperation, ValueError, OverflowError):  # numeric knows NaN and Infinity
        return 0
    return time_us if 0 < time_us < _LAST_US else 0
