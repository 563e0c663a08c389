"""The SQL that reads a page of rows. Text only; runs nothing.

Every row comes with its place (table and ctid), the transaction that wrote it, when that was, and its number in --ids.
"""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import sql

from cdc_relay.errors import ConfigError
from cdc_relay.replay.position import Position
from cdc_relay.replay.selection import Selection
from cdc_relay.replay.table import Leaf, ReplayTable, TimeColumn
from cdc_relay.sources.printed_rows import quote_name

__all__ = [
    "HEAD_COUNT",
    "RANGE_BLOCKS",
    "cast_statement",
    "check_statement",
    "found_statement",
    "ids_statement",
    "scan_statement",
]

HEAD_COUNT = 5  # values before those of the row's own columns
RANGE_BLOCKS = 512  # that one statement looks at: 4 MB, so that none takes long however few rows are wanted
_NO_TIME = (
    "map the column that tells when an event was (outboxes[].columns.timestamp), or say it in SQL, as in"
    " --where \"created_on >= '2026-01-31'\""
)


def scan_statement(table: ReplayTable, selection: Selection, leaf: Leaf, position: Position) -> str:
    """In the order of the table's blocks, as a rule that of the inserts. No index is needed."""
    end = min(position.block + RANGE_BLOCKS, leaf.block_count)
    conditions = [f"ctid > '{position.tid}'", f"ctid < '({end},0)'", *_conditions(table, selection)]
    name = quote_name(table.outbox.name)  # also a partition answers to it
    return (
        f"SELECT {_selected(table, '0')} FROM ONLY {leaf.label} AS {name}"
        f" WHERE {' AND '.join(conditions)} ORDER BY ctid"
    )


def ids_statement(table: ReplayTable, selection: Selection, ids: Sequence[str]) -> str:
    """As the id's own type, so that its index is used; in the order of the file."""
    name = quote_name(table.outbox.name)
    # Inside, so that xmin and the like are this table's without being told.
    rows = f"SELECT {_selected(table, 'cdc_relay_number')} FROM {table.outbox.label} AS {name}"
    return (
        f"SELECT found.* FROM {_numbered(table, ids)}"
        f" JOIN LATERAL ({rows} WHERE {_id_condition(table, selection)}) AS found ON true"
        " ORDER BY cdc_relay_number, found.tableoid, found.ctid"
    )


def found_statement(table: ReplayTable, selection: Selection, ids: Sequence[str]) -> str:
    """The numbers of those that the table has."""
    rows = f"SELECT FROM {table.outbox.label} AS {quote_name(table.outbox.name)}"
    return (
        f"SELECT cdc_relay_number FROM {_numbered(table, ids)}"
        f" WHERE EXISTS ({rows} WHERE {_id_condition(table, selection)})"
    )


def cast_statement(table: ReplayTable, ids: Sequence[str]) -> str:
    """Fails where one of them is not of the id's type."""
    return f"SELECT count(*) FROM {_numbered(table, ids)}"


def check_statement(table: ReplayTable, selection: Selection) -> str:
    name = quote_name(table.outbox.name)
    conditions = " AND ".join(_conditions(table, selection) or ["true"])
    return f"EXPLAIN SELECT {_selected(table, '0')} FROM {table.outbox.label} AS {name} WHERE {conditions}"


def _numbered(table: ReplayTable, ids: Sequence[str]) -> str:
    wanted = ", ".join(_literal(each) for each in ids)
    return (
        f"unnest(ARRAY[{wanted}]::{table.id_type}[]) WITH ORDINALITY AS cdc_relay_ids (cdc_relay_id, cdc_relay_number)"
    )


def _id_condition(table: ReplayTable, selection: Selection) -> str:
    name, column = quote_name(table.outbox.name), quote_name(table.outbox.id_column)
    return " AND ".join([f"{name}.{column} = cdc_relay_id", *_conditions(table, selection)])


def _selected(table: ReplayTable, number: str) -> str:
    head = ["tableoid", "ctid", "xmin", _time(table), number]
    return ", ".join([*head, *(quote_name(column.name) for column in table.columns)])


def _time(table: ReplayTable) -> str:
    """In microseconds since 1970, with a fraction perhaps."""
    times = [_epoch("pg_xact_commit_timestamp(xmin)")] if table.has_commit_times else []
    if table.time is not None:
        name = quote_name(table.time.name)
        times.append(f"{name}::numeric * 1000" if table.time.is_number else _epoch(name))
    return f"coalesce({', '.join(times)})" if times else "NULL::numeric"


def _epoch(moment: str) -> str:
    return f"CASE WHEN isfinite({moment}) THEN extract(epoch FROM {moment}) * 1000000 END"


def _conditions(table: ReplayTable, selection: Selection) -> list[str]:
    conditions = [f"({table.row_filter})"] if table.row_filter else []
    if selection.has_times:
        conditions += _time_conditions(table, selection)
    if selection.where is not None:
        conditions.append(f"(\n{selection.where}\n)")  # a comment in it ends with its line
    return conditions


def _time_conditions(table: ReplayTable, selection: Selection) -> list[str]:
    if table.time is None:
        raise ConfigError(
            f"{table.outbox.label}: no column is known that tells when a row was written, so --since and --until"
            " cannot be used",
            remedy=_NO_TIME,
        )
    name, bounds = quote_name(table.time.name), [(">=", selection.since), ("<", selection.until)]
    return [f"{name} {sign} {_moment(table.time, moment)}" for sign, moment in bounds if moment is not None]


def _moment(time: TimeColumn, moment: str) -> str:
    if time.is_number:
        return f"(extract(epoch FROM {_literal(moment)}::timestamptz) * 1000)"
    zoned = f"{_literal(moment)}::timestamptz"
    return zoned if time.sql_type == "timestamptz" else f"({zoned} AT TIME ZONE 'UTC')"


def _literal(value: str) -> str:
    return sql.Literal(value).as_string(None).strip()
