"""The statements that write events, for two spellings of parameters. Executes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple, TypeVar

from .event import Event
from .names import quote
from .outbox import Outbox
from .rows import Row, to_message, to_row

__all__ = ["Spelling", "Statement", "write"]

_CHUNK = 500  # events in a statement; the protocol has room for 65,535 parameters, a select list for 1,664 columns
_T = TypeVar("_T")


class Spelling(NamedTuple):
    """How a driver wants its statements."""

    numbered: bool = False  # $1 instead of %s
    native_times: bool = False  # else as text in UTC, which timestamptz and timestamp columns read alike


class Statement(NamedTuple):
    sql: str
    parameters: tuple[object, ...]


def write(events: Sequence[Event], outbox: Outbox, spelling: Spelling) -> list[Statement]:
    """All events are checked before the first statement is made."""
    if outbox.message_prefix is not None:
        contents = [to_message(event, outbox) for event in events]
        return [_messages(outbox.message_prefix, chunk, spelling) for chunk in _chunks(contents)]
    rows = [to_row(event, outbox) for event in events]
    alike = [list(group) for _, group in groupby(rows, key=tuple)]  # a column that is not given keeps its default
    statements = [_insert(outbox, chunk, spelling) for group in alike for chunk in _chunks(group)]
    return statements if outbox.keep else statements + [_delete(outbox, chunk, spelling) for chunk in _chunks(rows)]


def _insert(outbox: Outbox, rows: Sequence[Row], spelling: Spelling) -> Statement:
    columns = ", ".join(_spell(quote(name), spelling) for name in rows[0])
    marks = _marks(len(rows) * len(rows[0]), spelling)
    values = ", ".join(f"({', '.join(next(marks) for _ in row)})" for row in rows)
    sql = f"INSERT INTO {_spell(outbox.sql_table, spelling)} ({columns}) VALUES {values}"
    return Statement(sql, tuple(_adapt(value, spelling) for row in rows for value in row.values()))


def _delete(outbox: Outbox, rows: Sequence[Row], spelling: Spelling) -> Statement:
    column = outbox.names["id"]
    place = f"{_spell(outbox.sql_table, spelling)} WHERE {_spell(quote(column), spelling)}"
    sql = f"DELETE FROM {place} IN ({', '.join(_marks(len(rows), spelling))})"
    return Statement(sql, tuple(row[column] for row in rows))


def _messages(prefix: str, contents: Sequence[str], spelling: Spelling) -> Statement:
    marks = _marks(len(contents) * 2, spelling)
    call = "pg_logical_emit_message(true, {}::text, {}::text)"
    # Each with a name of its own: psycopg's namedtuple_row refuses a result that has one twice, after the writing.
    calls = [f"{call.format(next(marks), next(marks))} AS m{place}" for place, _ in enumerate(contents)]
    return Statement(f"SELECT {', '.join(calls)}", tuple(text for content in contents for text in (prefix, content)))


def _marks(count: int, spelling: Spelling) -> Iterator[str]:
    return (f"${place}" if spelling.numbered else "%s" for place in range(1, count + 1))


def _spell(name: str, spelling: Spelling) -> str:
    return name if spelling.numbered else name.replace("%", "%%")


def _adapt(value: object, spelling: Spelling) -> object:
    return value.isoformat() if isinstance(value, datetime) and not spelling.native_times else value


def _chunks(items: Sequence[_T]) -> Iterable[Sequence[_T]]:
    return (items[start : start + _CHUNK] for start in range(0, len(items), _CHUNK))
