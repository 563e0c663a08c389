"""A statement's rows, so many that they fit in memory. Runs in a transaction that somebody else began."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cdc_relay.replay.page import TableRow, read_time_us
from cdc_relay.replay.statements import HEAD_COUNT
from cdc_relay.sources.line import Line

__all__ = ["Cursor", "Fetched", "open_cursor"]

Fetched = tuple[int, TableRow]  # the row, and its number among the ids

_FIRST_ROWS, _MOST_ROWS = 1, 100  # the next ones may be a thousand times larger than those before
_FETCH_BYTES = 1 << 20
_ANSWER_SECONDS = 600.0  # the server's own limit speaks first


class Cursor:
    def __init__(self, line: Line) -> None:
        self._line = line
        self._row_count = _FIRST_ROWS  # for the next fetch: as many as fit, judging by the last one
        self.is_over = False

    def fetch(self) -> list[Fetched]:
        values = self._line.query_printed(
            f"FETCH {self._row_count} FROM cdc_relay_page", timeout_seconds=_ANSWER_SECONDS
        )
        self.is_over = len(values) < self._row_count
        fetched = [_read(row) for row in values]
        size_bytes = sum(row.size_bytes for _, row in fetched)
        if size_bytes:
            self._row_count = max(1, min(_MOST_ROWS, len(fetched) * _FETCH_BYTES // size_bytes, self._row_count * 4))
        return fetched


@contextmanager
def open_cursor(line: Line, statement: str) -> Iterator[Cursor]:
    line.query_printed(f"DECLARE cdc_relay_page NO SCROLL CURSOR FOR {statement}", timeout_seconds=_ANSWER_SECONDS)
    yield Cursor(line)
    line.query("CLOSE cdc_relay_page")


def _read(values: tuple[bytes | None, ...]) -> Fetched:
    leaf, tid, xid, time_us, number = values[:HEAD_COUNT]
    row = values[HEAD_COUNT:]
    size_bytes = sum(len(value) for value in row if value is not None)
    return int(number or 0), TableRow(row, int(leaf or 0), tid or b"", int(xid or 0), read_time_us(time_us), size_bytes)
