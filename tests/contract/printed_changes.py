"""The text that Postgres' plugin test_decoding prints, read strictly: what it does not print is a ValueError.

Its rules are those of contrib/test_decoding: names as quote_identifier writes them, types as format_type, strings in
single quotes that are doubled inside, bits as B'…', booleans as words, numbers bare; an old row without its NULLs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from cdc_relay.protocol.messages import UNCHANGED, Unchanged

__all__ = ["Cell", "PrintedChange", "PrintedTransaction", "parse_change", "parse_changes"]

_NAME = r'(?:[a-z_][a-z0-9_]*|"(?:[^"]|"")+")'
_TABLE = re.compile(rf"({_NAME})\.({_NAME})")
_TABLES = re.compile(rf"table ((?:{_NAME}\.{_NAME}(?:, )?)+): (INSERT|UPDATE|DELETE|TRUNCATE):")
_CELL = re.compile(
    rf" ({_NAME})"
    r'\[((?:"(?:[^"]|"")*"|\[\]|[^\[\]"])+)\]:'
    r"(?:(?P<word>null|unchanged-toast-datum|true|false)(?= |$)|B'(?P<bits>[01]*)'|'(?P<text>(?:[^']|'')*)'"
    r"|(?P<number>-?(?:[0-9]+(?:\.[0-9]+)?(?:e[-+][0-9]+)?|Infinity)|NaN)(?= |$))"
)
_MESSAGE = re.compile(r"message: transactional: ([01]) prefix: (.*?), sz: (\d+) content:(.*)", re.DOTALL)
_WORDS: dict[str, bytes | Unchanged | None] = {
    "null": None,
    "unchanged-toast-datum": UNCHANGED,
    "true": b"t",
    "false": b"f",
}


class Cell(NamedTuple):
    name: str
    type_name: str
    value: bytes | Unchanged | None


class PrintedChange(NamedTuple):
    kind: str  # INSERT, UPDATE, DELETE, TRUNCATE or the prefix of a message
    tables: tuple[tuple[str, str], ...]  # schema and name; none for a message
    old: tuple[Cell, ...] | None = None  # without NULLs
    new: tuple[Cell, ...] | None = None
    options: tuple[str, ...] = ()  # of a TRUNCATE, or a message's content


class PrintedTransaction(NamedTuple):
    xid: int
    end_lsn: int
    changes: tuple[PrintedChange, ...]


def parse_changes(rows: Iterable[tuple[int, str]]) -> list[PrintedTransaction]:
    """Rows of pg_logical_slot_get_changes: position and text. Transactions without a change are left out."""
    transactions: list[PrintedTransaction] = []
    xid = 0
    changes: list[PrintedChange] = []
    for lsn, text in rows:
        verb, _, number = text.partition(" ")
        if verb == "BEGIN":
            xid, changes = int(number), []
        elif verb == "COMMIT":
            if int(number) != xid:
                raise ValueError(f"{text!r} after BEGIN {xid}")
            transactions += [PrintedTransaction(xid, lsn, tuple(changes))] if changes else []
        else:
            changes.append(parse_change(text))
    return transactions


def parse_change(text: str) -> PrintedChange:
    if match := _MESSAGE.fullmatch(text):
        return PrintedChange(match[2], (), options=(match[1], match[4]))
    head = _TABLES.match(text)
    if head is None:
        raise ValueError(f"no change: {text!r}")
    tables = tuple((_unquote(schema), _unquote(name)) for schema, name in _TABLE.findall(head[1]))
    rest = text[head.end() :]
    match head[2]:
        case "TRUNCATE":
            return PrintedChange("TRUNCATE", tables, options=_read_options(rest))
        case "INSERT":
            return PrintedChange("INSERT", tables, new=_read_row(rest))
        case "DELETE":
            return PrintedChange("DELETE", tables, old=_read_row(rest))
    return _read_update(tables, rest)


def _read_update(tables: tuple[tuple[str, str], ...], rest: str) -> PrintedChange:
    if not rest.startswith(" old-key:"):
        return PrintedChange("UPDATE", tables, new=_read_row(rest))
    old, end = _read_cells(rest, len(" old-key:"))
    if not rest.startswith(" new-tuple:", end):
        raise ValueError(f"expected the new row: {rest[end : end + 40]!r}")
    return PrintedChange("UPDATE", tables, old=old, new=_read_row(rest[end + len(" new-tuple:") :]))


def _read_options(rest: str) -> tuple[str, ...]:
    options = tuple(rest.split())
    if not options or not {*options} <= {"restart_seqs", "cascade", "(no-flags)"}:
        raise ValueError(f"no options of a TRUNCATE: {rest!r}")
    return tuple(option for option in options if option != "(no-flags)")


def _read_row(rest: str) -> tuple[Cell, ...]:
    cells, end = _read_cells(rest, 0)
    if end != len(rest):
        raise ValueError(f"no column: {rest[end : end + 40]!r}")
    return cells


def _read_cells(rest: str, at: int) -> tuple[tuple[Cell, ...], int]:
    cells: list[Cell] = []
    while match := _CELL.match(rest, at):
        cells.append(Cell(_unquote(match[1]), match[2], _read_value(match)))
        at = match.end()
    return tuple(cells), at


def _read_value(match: re.Match[str]) -> bytes | Unchanged | None:
    if match["word"] is not None:
        return _WORDS[match["word"]]
    if match["text"] is not None:
        return match["text"].replace("''", "'").encode()
    return str(match["bits"] if match["number"] is None else match["number"]).encode()


def _unquote(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
