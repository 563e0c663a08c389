"""Pages of rows from a position on. Every call may block within limits: for a helper thread.

Owns its connection. A page is a transaction of its own, unless the reader was given one that is to stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from cdc_relay.replay.cursor import Fetched, open_cursor
from cdc_relay.replay.page import Page, TableRow, parse_tid
from cdc_relay.replay.position import Position
from cdc_relay.replay.reader_refusals import explained
from cdc_relay.replay.selection import Selection
from cdc_relay.replay.statements import (
    RANGE_BLOCKS,
    cast_statement,
    check_statement,
    found_statement,
    ids_statement,
    scan_statement,
)
from cdc_relay.replay.table import Leaf, ReplayTable, read_leaves, read_table
from cdc_relay.routing.outbox import Outbox
from cdc_relay.sources.catalog import read_facts
from cdc_relay.sources.line import Line, QueryError

__all__ = ["PageReader", "Session"]

_PAGE_ROWS = 2_000
_PAGE_BYTES = 4 << 20
_PAGE_IDS = 1_000
_NO_TABLE = "42P01"


class Session(Protocol):
    """A connection that prints as the stream does, and its transactions."""

    @property
    def line(self) -> Line: ...

    @contextmanager
    def page(self) -> Iterator[None]:
        """A transaction for one page, or the one that stays."""
        ...

    def close(self) -> None: ...


class PageReader:
    def __init__(
        self,
        open_session: Callable[[], Session],
        outboxes: Sequence[Outbox],
        selection: Selection,
        *,
        publication: str,
    ) -> None:
        self._open_session = open_session
        self._outboxes = outboxes
        self._selection = selection
        self._publication = publication
        self._session: Session | None = None
        self._tables: dict[int, ReplayTable] = {}
        self._leaves: dict[int, list[Leaf]] = {}

    def prepare(self) -> int:
        """Whether all of it can be read; how many blocks or ids it is. RelayError with what to do otherwise."""
        count = 0
        for place, outbox in enumerate(self._outboxes):
            with explained(outbox, self._selection):
                table, leaves = self._table(place), self._leaves_of(place)
                self._line.query_printed(check_statement(table, self._selection), timeout_seconds=60)
                self._check_ids(table)
            count += sum(leaf.block_count for leaf in leaves)
        return count if self._selection.ids is None else len(self._selection.ids) * len(self._outboxes)

    def count_done(self, position: Position) -> int:
        """Of what `prepare` counted."""
        if self._selection.ids is not None:
            return len(self._selection.ids) * position.outbox + position.id_count
        earlier = sum(leaf.block_count for place in range(position.outbox) for leaf in self._leaves.get(place, []))
        here = self._leaves.get(position.outbox, [])
        return earlier + sum(leaf.block_count for leaf in here if leaf.oid < position.leaf) + position.block

    def is_over(self, position: Position) -> bool:
        return position.outbox >= len(self._outboxes)

    def read(self, position: Position) -> Page:
        outbox = self._outboxes[position.outbox]
        with explained(outbox, self._selection, on_away=self.close):
            table = self._table(position.outbox)
            try:
                return self._read(table, position)
            except QueryError as exc:
                if exc.sqlstate != _NO_TABLE or not self._has_lost_a_leaf(position.outbox):
                    raise
                return Page(table, position, notices=[f"{outbox.label}: a partition is gone, and its rows with it"])

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def _read(self, table: ReplayTable, position: Position) -> Page:
        with self._current().page():
            server_time_us = self._server_time_us()
            if self._selection.ids is not None:
                page = self._read_ids(table, self._selection.ids, position)
            else:
                page = self._read_range(table, position)
        page.read_at_us = server_time_us
        return page

    def _server_time_us(self) -> int:
        [(now,)] = self._line.query("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
        return int(now or 0)

    def _has_lost_a_leaf(self, place: int) -> bool:
        """A partition was dropped or detached since the leaves were listed."""
        self.close()
        before = {leaf.oid for leaf in self._leaves.pop(place, [])}
        return bool(before - {leaf.oid for leaf in self._leaves_of(place)})

    # -- by place

    def _read_range(self, table: ReplayTable, position: Position) -> Page:
        page = Page(table, position)
        leaf, position = self._find_leaf(position, page)
        if leaf is None:
            page.end = Position(outbox=position.outbox + 1)
            return page
        with open_cursor(self._line, scan_statement(table, self._selection, leaf, position)) as cursor:
            if self._filenode(leaf) != leaf.filenode:  # asked with the lock that reading takes
                return self._begin_again(page, leaf, position)
            while not cursor.is_over and not _is_full(page.rows):
                page.rows += [_placed(row, position) for _, row in cursor.fetch()]
        page.end = _next_range(position) if cursor.is_over else page.rows[-1].behind
        if page.end.block >= leaf.block_count:
            page.end = Position(outbox=position.outbox, leaf=leaf.oid + 1)
        return page

    def _find_leaf(self, position: Position, page: Page) -> tuple[Leaf | None, Position]:
        """The one that the position is in, or the next: partitions come and go."""
        leaf = next((each for each in self._leaves_of(position.outbox) if each.oid >= position.leaf), None)
        if leaf is None:
            return None, position
        if position.leaf != leaf.oid or not position.filenode:
            return leaf, Position(position.outbox, leaf.oid, leaf.filenode)
        if position.filenode != leaf.filenode:
            page.notices.append(_rewritten(leaf))
            return leaf, Position(position.outbox, leaf.oid, leaf.filenode)
        return leaf, position

    def _begin_again(self, page: Page, leaf: Leaf, position: Position) -> Page:
        self._leaves.pop(position.outbox)
        page.end = Position(position.outbox, leaf.oid)
        page.notices.append(_rewritten(leaf))
        return page

    def _filenode(self, leaf: Leaf) -> int:
        [(filenode,)] = self._line.query("SELECT coalesce(pg_relation_filenode($1::oid), 0)", [str(leaf.oid)])
        return int(filenode or 0)

    # -- by id

    def _read_ids(self, table: ReplayTable, ids: tuple[str, ...], position: Position) -> Page:
        wanted = ids[position.id_count : position.id_count + _PAGE_IDS]
        if not wanted:
            return Page(table, Position(outbox=position.outbox + 1))
        fetched: list[Fetched] = []
        with open_cursor(self._line, ids_statement(table, self._selection, wanted)) as cursor:
            while not cursor.is_over and not (_is_full([row for _, row in fetched]) and _has_whole_id(fetched)):
                fetched += cursor.fetch()
        done = len(wanted) if cursor.is_over else fetched[-1][0] - 1  # the last id may have more rows
        found = {number for number, _ in fetched}
        missing = [each for number, each in enumerate(wanted[:done], start=1) if number not in found]
        rows = _numbered([each for each in fetched if each[0] <= done], position)
        missing = self._missing_anywhere(missing, position.outbox)
        return Page(table, position._replace(id_count=position.id_count + done), list(rows), missing)

    def _check_ids(self, table: ReplayTable) -> None:
        """Of every table before anything is published: the first ones would be, and then the run would end."""
        ids = self._selection.ids or ()
        for start in range(0, len(ids), _PAGE_IDS):
            self._line.query_printed(cast_statement(table, ids[start : start + _PAGE_IDS]), timeout_seconds=60)

    def _missing_anywhere(self, missing: list[str], place: int) -> list[str]:
        """Known at the last outbox. The others are asked again: an earlier process may have read them."""
        if place + 1 < len(self._outboxes):
            return []
        for earlier in range(place):
            if missing:
                statement = found_statement(self._table(earlier), self._selection, missing)
                found = {int(number or 0) for (number,) in self._line.query(statement, timeout_seconds=60)}
                missing = [each for number, each in enumerate(missing, start=1) if number not in found]
        return missing

    # -- inside

    @property
    def _line(self) -> Line:
        return self._current().line

    def _current(self) -> Session:
        if self._session is None:
            self._session = self._open_session()
        return self._session

    def _table(self, place: int) -> ReplayTable:
        if place not in self._tables:
            outbox = self._outboxes[place]
            name = outbox.schema, outbox.name
            facts = read_facts(self._line, slot="", publication=self._publication, tables=[name])
            self._tables[place] = read_table(self._line, outbox, facts.tables.get(name))
        return self._tables[place]

    def _leaves_of(self, place: int) -> list[Leaf]:
        if place not in self._leaves:
            self._leaves[place] = read_leaves(self._line, self._outboxes[place])
        return self._leaves[place]


def _next_range(position: Position) -> Position:
    return position._replace(block=position.block + RANGE_BLOCKS, line=0)


def _placed(row: TableRow, position: Position) -> TableRow:
    block, line = parse_tid(row.tid)
    return row._replace(behind=position._replace(block=block, line=line))


def _numbered(fetched: list[Fetched], position: Position) -> Iterator[TableRow]:
    """An id is passed when no more rows of it follow."""
    following = [number for number, _ in fetched[1:]] + [0]
    for (number, row), next_number in zip(fetched, following, strict=True):
        passed = number - 1 if number == next_number else number
        yield row._replace(behind=position._replace(id_count=position.id_count + passed))


def _is_full(rows: list[TableRow]) -> bool:
    return len(rows) >= _PAGE_ROWS or sum(row.size_bytes for row in rows) >= _PAGE_BYTES


def _has_whole_id(fetched: list[Fetched]) -> bool:
    return bool(fetched) and fetched[0][0] != fetched[-1][0]


def _rewritten(leaf: Leaf) -> str:
    return f"{leaf.label} was rewritten (VACUUM FULL, CLUSTER, ALTER TABLE): its rows are published from the first on"
