"""A table's columns as the stream describes them, and its values as the stream prints them. Reads; changes nothing."""

from __future__ import annotations

from cdc_relay.protocol.messages import Column
from cdc_relay.sources.line import Line
from cdc_relay.sources.slot import pinned_settings

__all__ = ["describe_columns", "pin_settings", "quote_name"]

_COLUMNS = """
WITH RECURSIVE base AS (  -- what a domain is made of, as the stream says it too
    SELECT oid AS type, oid, typbasetype FROM pg_type
    UNION ALL
    SELECT base.type, pg_type.oid, pg_type.typbasetype FROM base JOIN pg_type ON pg_type.oid = base.typbasetype
)
SELECT attname, base.oid::text, atttypmod::text
  FROM pg_attribute JOIN base ON base.type = atttypid AND base.typbasetype = 0
 WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND (attgenerated = '' OR $2) ORDER BY attnum"""


def pin_settings(line: Line) -> None:
    """What the walsender prints, whatever the role, the database or the server prefer."""
    line.query("".join(f"SET {name} = '{value}';" for name, value in pinned_settings(line).items()))


def describe_columns(line: Line, table: str, *, generated: bool = False) -> tuple[Column, ...]:
    """`table` as SQL writes it. Generated columns are in the stream only where the publication says so."""
    described = line.query(_COLUMNS, (table, "t" if generated else "f"))
    return tuple(Column(name or "", int(oid or 0), int(mod or -1), False) for name, oid, mod in described)


def quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
