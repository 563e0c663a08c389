"""A good outbox table for those who have none, as SQL: the columns that the configuration maps, under its names. Pure.

No storage settings: rows are only inserted and deleted, which Postgres' own limits for autovacuum are made for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cdc_relay.admin.retention.kept import DEFAULT_TIME_COLUMN
from cdc_relay.admin.retention.months import Month
from cdc_relay.admin.retention.partitions import attach_sql
from cdc_relay.config import quote_identifier
from cdc_relay.routing.outbox import Outbox

__all__ = ["NewTables", "create_sql", "find_unmapped", "new_id", "psql_script"]

_UUID_V7 = 180000  # the first version that makes them itself
_CHOOSE = f"""\
SELECT to_regclass({{}}) IS NULL AS cdc_relay_is_missing,
       CASE WHEN current_setting('server_version_num')::integer >= {_UUID_V7} THEN 'uuidv7()'
            ELSE 'gen_random_uuid()' END AS cdc_relay_new_id
\\gset
"""


@dataclass(frozen=True, slots=True)
class NewTables:
    """How tables that are not there are made."""

    partitioned: bool = False
    indexed: frozenset[str] = frozenset()  # labels: rows are looked for by time there, to remove them


def new_id(server_version: int) -> str:
    """Version 7 begins with the time: new rows go to one end of the index."""
    return "uuidv7()" if server_version >= _UUID_V7 else "gen_random_uuid()"


def create_sql(outbox: Outbox, new: NewTables, *, id_default: str, months: Sequence[Month]) -> str:
    """Several statements, which are one transaction when they are sent at once."""
    time, table = quote_identifier(_time_column(outbox)), outbox.label
    columns = _columns(outbox, id_default)
    lines = [f"    {quote_identifier(name)} {definition}" for name, definition in columns.items()]
    key = quote_identifier(outbox.id_column)
    lines.append(f"    PRIMARY KEY ({key}, {time})" if new.partitioned else f"    PRIMARY KEY ({key})")
    by = f" PARTITION BY RANGE ({time})" if new.partitioned else ""
    parts = [f"CREATE TABLE {table} (\n" + ",\n".join(lines) + f"\n){by};"]
    if new.partitioned:
        parts += [f"{attach_sql(table, outbox.schema, outbox.name, month)};" for month in months]
    elif table in new.indexed:
        parts.append(f"CREATE INDEX ON {table} ({time});")
    return "\n".join(parts) + "\n"


def psql_script(outbox: Outbox, new: NewTables, *, months: Sequence[Month]) -> str:
    """The same for psql -f, on any version, where the table is missing."""
    literal = "'" + outbox.label.replace("'", "''") + "'"
    create = create_sql(outbox, new, id_default=":cdc_relay_new_id", months=months)
    return f"{_CHOOSE.replace('{}', literal)}\\if :cdc_relay_is_missing\n{create}\\endif\n"


def find_unmapped(outbox: Outbox) -> tuple[str, ...]:
    """Of the columns that are made in any case, those that nothing uses until the file maps them."""
    optional = {
        "headers": outbox.headers_column,
        "correlation_id": outbox.correlation_column,
        "scheduled_at": outbox.schedule_column,
    }
    return tuple(part for part, column in optional.items() if column is None)


def _columns(outbox: Outbox, id_default: str) -> dict[str, str]:
    """By name, in the order of the table. Whatever is named twice is what it is named first."""
    time = _time_column(outbox)
    times = [(name, "timestamptz NOT NULL DEFAULT now()") for name in (time, DEFAULT_TIME_COLUMN)]
    fixed = dict(reversed([*_mapped(outbox, id_default), *times]))
    named = (*(name for name, _ in _mapped(outbox, id_default)), *outbox.columns, time)
    return {name: fixed.get(name, "text") for name in dict.fromkeys(named)}


def _mapped(outbox: Outbox, id_default: str) -> Iterator[tuple[str, str]]:
    yield outbox.id_column, f"uuid NOT NULL DEFAULT {id_default}"
    yield "aggregatetype", "text NOT NULL"
    yield outbox.key_column, "text NOT NULL"
    yield outbox.type_column, "text NOT NULL"
    yield outbox.payload_column, "jsonb"
    yield outbox.headers_column or "headers", "jsonb"
    yield outbox.correlation_column or "correlation_id", "text"
    yield outbox.schedule_column or "scheduled_at", "timestamptz"
    if outbox.partition_column is not None:
        yield outbox.partition_column, "integer"


def _time_column(outbox: Outbox) -> str:
    return outbox.timestamp_column or DEFAULT_TIME_COLUMN
