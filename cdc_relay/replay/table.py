"""What a run has to know of an outbox's table: its columns, its leaves, which column tells the time. Reads the catalog.

Rows that the publication filters out and columns that it leaves out are not in the stream, so not in a run either.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdc_relay.errors import RefusedError
from cdc_relay.protocol.messages import Column
from cdc_relay.routing.outbox import Outbox
from cdc_relay.sources.catalog import TableFacts
from cdc_relay.sources.line import Line
from cdc_relay.sources.printed_rows import describe_columns, quote_name

__all__ = ["Leaf", "ReplayTable", "TimeColumn", "read_leaves", "read_table"]

_TIMESTAMPTZ, _TIMESTAMP = 1184, 1114
_WHOLE_NUMBERS = (20, 21, 23, 1700)  # milliseconds since 1970
_FALLBACK = "created_at"

_ID = """
SELECT format_type(a.atttypid, NULL),
       EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisunique AND i.indisvalid
                  AND i.indpred IS NULL AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum)
  FROM pg_attribute a WHERE a.attrelid = $1::regclass AND a.attname = $2"""
_LEAVES = """
SELECT c.oid::text, n.nspname, c.relname, c.relkind, coalesce(pg_relation_filenode(c.oid), 0)::text,
       CASE WHEN c.relkind = 'r' THEN pg_relation_size(c.oid) / current_setting('block_size')::int ELSE 0 END::text,
       has_table_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE')
  FROM pg_partition_tree($1::regclass) leaf JOIN pg_class c ON c.oid = leaf.relid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE leaf.isleaf
 UNION ALL
SELECT c.oid::text, n.nspname, c.relname, c.relkind, coalesce(pg_relation_filenode(c.oid), 0)::text,
       (pg_relation_size(c.oid) / current_setting('block_size')::int)::text,
       has_table_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE')
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.oid = $1::regclass AND NOT EXISTS (SELECT FROM pg_partition_tree($1::regclass))"""


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """A column that tells when an event was: in milliseconds, or a time with or without its zone."""

    name: str
    type_oid: int

    @classmethod
    def choose(cls, outbox: Outbox, columns: tuple[Column, ...]) -> TimeColumn | None:
        types = {column.name: column.type_oid for column in columns}
        mapped = outbox.timestamp_column
        if mapped is not None and types.get(mapped) in (_TIMESTAMPTZ, _TIMESTAMP, *_WHOLE_NUMBERS):
            return cls(mapped, types[mapped])
        if types.get(_FALLBACK) in (_TIMESTAMPTZ, _TIMESTAMP):
            return cls(_FALLBACK, types[_FALLBACK])
        return None

    @property
    def is_number(self) -> bool:
        return self.type_oid in _WHOLE_NUMBERS

    @property
    def sql_type(self) -> str:
        return "timestamptz" if self.type_oid == _TIMESTAMPTZ else "timestamp"


@dataclass(frozen=True, slots=True)
class Leaf:
    """What has rows: the table itself, or a partition."""

    oid: int
    label: str  # as SQL writes it
    filenode: int
    block_count: int  # when the run came to it: what is added later is in the stream


@dataclass(frozen=True, slots=True)
class ReplayTable:
    outbox: Outbox
    columns: tuple[Column, ...]
    row_filter: str  # of the publication
    time: TimeColumn | None
    id_type: str
    has_unique_ids: bool
    has_commit_times: bool  # track_commit_timestamp is on


def read_table(line: Line, outbox: Outbox, facts: TableFacts | None) -> ReplayTable:
    if facts is None:
        raise RefusedError(f"there is no table {outbox.label}", remedy="create it, or correct outboxes[].table")
    in_stream = set(facts.column_list or facts.columns)
    columns = describe_columns(line, outbox.label, generated=True)
    columns = tuple(column for column in columns if column.name in in_stream)
    [(tracks,)] = line.query("SELECT current_setting('track_commit_timestamp')")
    id_type, has_unique_ids = _read_id(line, outbox)
    return ReplayTable(
        outbox,
        columns,
        row_filter=facts.row_filter,
        time=TimeColumn.choose(outbox, columns),
        id_type=id_type,
        has_unique_ids=has_unique_ids,
        has_commit_times=tracks == "on",
    )


def read_leaves(line: Line, outbox: Outbox) -> list[Leaf]:
    """In the order of their making. RefusedError with the exact grant where the role may not read them."""
    rows = line.query(_LEAVES, [outbox.label])
    unread = [(row[1], row[2]) for row in rows if row[6] != "t"]
    if unread:
        raise _refuse_rights(outbox, unread, line.place.user)
    foreign = [row[2] or "" for row in rows if row[3] not in ("r", "p")]
    if foreign:
        raise RefusedError(
            f"{outbox.label}: partition {foreign[0]} is a foreign table; its rows are in no stream of this server",
            remedy="replay its rows where they are, and the rest by the names of its partitions",
        )
    leaves = [Leaf(int(row[0] or 0), _label(row[1], row[2]), int(row[4] or 0), int(row[5] or 0)) for row in rows]
    return sorted(leaves, key=lambda leaf: leaf.oid)


def _label(schema: str | None, name: str | None) -> str:
    return f"{quote_name(schema or '')}.{quote_name(name or '')}"


def _read_id(line: Line, outbox: Outbox) -> tuple[str, bool]:
    rows = line.query(_ID, [outbox.label, outbox.id_column])
    return (rows[0][0] or "text", rows[0][1] == "t") if rows else ("text", False)


def _refuse_rights(outbox: Outbox, tables: list[tuple[str | None, str | None]], user: str) -> RefusedError:
    """A partition is read by its own name, so it needs its own right."""
    role = quote_name(user)
    schemas = ", ".join(dict.fromkeys(quote_name(schema or "") for schema in (outbox.schema, *dict(tables))))
    labels = ", ".join(dict.fromkeys([outbox.label, *(_label(*table) for table in tables)]))
    return RefusedError(
        f"{outbox.label}: role {user} may not read {'it' if len(tables) == 1 else f'{len(tables)} of its partitions'}",
        remedy=f"GRANT USAGE ON SCHEMA {schemas} TO {role}; GRANT SELECT ON {labels} TO {role};",
    )
