"""What there is to take down, read from the catalogs and the schema. Judges nothing, changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

from cdc_relay.errors import RelayError
from cdc_relay.sources.line import Line
from cdc_relay.sources.preflight import Wanted

__all__ = [
    "LOT_TABLES",
    "PEEK_LIMIT",
    "PublicationThere",
    "SchemaThere",
    "SlotThere",
    "count_waiting_rows",
    "read_processes",
    "read_publication",
    "read_schema",
    "read_slot",
]

LOT_TABLES = ("parked_records", "runs")  # the rest of the schema is about the slot, and goes with it
PEEK_LIMIT = 100_000  # rows counted exactly; decoding a big backlog to its end could take minutes
_PEEK_SECONDS = 10


@dataclass(frozen=True, slots=True)
class SlotThere:
    plugin: str
    database: str
    reader_pid: int | None
    wal_status: str
    confirmed_lsn: str
    unconfirmed_bytes: int
    kept_bytes: int


@dataclass(frozen=True, slots=True)
class PublicationThere:
    owner: str
    all_tables: bool
    tables: tuple[str, ...]
    other_slots: tuple[str, ...]  # of this database, with the same plugin: they may be read through it


@dataclass(frozen=True, slots=True)
class SchemaThere:
    """The schema cdc_relay of one database; counts are of rows of our slot."""

    database: str
    owner: str
    slot_tables: tuple[str, ...]  # that have rows by slot, without the lot's
    has_lot: bool
    drop_statements: tuple[str, ...] = ()  # for all that is ours in it, without CASCADE
    remembered: dict[str, int] = field(default_factory=dict)  # slot table -> rows
    parked: dict[str, int] = field(default_factory=dict)  # status -> records
    other_slots: tuple[str, ...] = ()


_SLOT = """
SELECT plugin, database, active_pid, wal_status, coalesce(confirmed_flush_lsn, '0/0'),
       coalesce(pg_current_wal_lsn() - confirmed_flush_lsn, 0)::bigint,
       coalesce(pg_current_wal_lsn() - restart_lsn, 0)::bigint
  FROM pg_replication_slots WHERE slot_name = $1
"""
# Names end after 63 bytes (see sources/conninfo).
_PROCESSES = """
SELECT pid FROM pg_stat_activity
 WHERE application_name IN ($1, left($1, 55) || ':catalog') AND pid <> pg_backend_pid() ORDER BY pid
"""
_PUBLICATION = """
SELECT pg_get_userbyid(pubowner), puballtables FROM pg_publication WHERE pubname = $1
"""
_MEMBERS = """
SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_publication_tables
 WHERE pubname = $1 ORDER BY 1
"""
_OTHER_SLOTS = """
SELECT slot_name FROM pg_replication_slots
 WHERE database = current_database() AND plugin = 'pgoutput' AND slot_name <> $1 ORDER BY 1
"""
_SCHEMA = "SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'cdc_relay'"
# By name: what somebody else keeps in the schema is theirs, whatever columns it has.
_TABLES = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = 'cdc_relay' AND c.relkind = 'r'
   AND c.relname IN ('guard', 'gaps', 'replays', 'parked_records', 'runs') ORDER BY 1
"""
# Views first; all tables in one statement, whatever they reference among themselves.
_DROPS = """
SELECT 'DROP ' || CASE c.relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END || ' IF EXISTS '
       || string_agg('cdc_relay.' || quote_ident(c.relname), ', ' ORDER BY c.relname)
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = 'cdc_relay' AND c.relkind IN ('v', 'r')
   AND c.relname IN ('guard', 'gaps', 'replays', 'parked_records', 'runs', 'schema_version', 'dead_letters')
 GROUP BY c.relkind ORDER BY c.relkind DESC
"""
_WAITING = """
SELECT count(*) FROM pg_logical_slot_peek_binary_changes($1, NULL, $3::int,
         'proto_version', '1', 'publication_names', quote_ident($2)) AS change(lsn, xid, data)
 WHERE get_byte(data, 0) = ascii('I')
"""


def read_slot(line: Line, slot: str) -> SlotThere | None:
    rows = line.query(_SLOT, [slot])
    if not rows:
        return None
    plugin, database, pid, wal_status, confirmed, unconfirmed, kept = (value or "" for value in rows[0])
    reader = int(pid) if pid else None
    return SlotThere(plugin, database, reader, wal_status, confirmed, int(unconfirmed), int(kept))


def read_processes(line: Line, application_name: str) -> list[int]:
    """Server-side PIDs of relays that read the slot, or wait for it, or have released the line for a while."""
    return [int(pid or 0) for (pid,) in line.query(_PROCESSES, [application_name])]


def read_publication(line: Line, wanted: Wanted) -> PublicationThere | None:
    rows = line.query(_PUBLICATION, [wanted.publication])
    if not rows:
        return None
    members = [name or "" for (name,) in line.query(_MEMBERS, [wanted.publication])]
    others = [name or "" for (name,) in line.query(_OTHER_SLOTS, [wanted.slot])]
    return PublicationThere(rows[0][0] or "", rows[0][1] == "t", tuple(members), tuple(others))


def read_schema(line: Line, slot: str) -> SchemaThere | None:
    rows = line.query(_SCHEMA)
    if not rows:
        return None
    tables = [name or "" for (name,) in line.query(_TABLES)]
    about_slot = tuple(table for table in tables if table not in LOT_TABLES)
    return SchemaThere(
        database=line.place.database,
        owner=rows[0][0] or "",
        slot_tables=about_slot,
        has_lot="parked_records" in tables,
        drop_statements=tuple(statement or "" for (statement,) in line.query(_DROPS)),
        remembered={table: _count(line, table, slot) for table in about_slot},
        parked=_read_parked(line, slot) if "parked_records" in tables else {},
        other_slots=_read_other_slots(line, tables, slot),
    )


def count_waiting_rows(conninfo: str, wanted: Wanted) -> int | None:
    """Rows of the publication that nobody has confirmed; None where Postgres cannot tell. Confirms nothing itself.

    On a line of its own: a refusal or a time limit must not end the command.
    """
    try:
        with closing(Line.open(conninfo)) as line:
            # The server gives up before we do: a peek that goes on would keep the slot active.
            line.query(f"SET statement_timeout = '{_PEEK_SECONDS}s'")
            [(count,)] = line.query(
                _WAITING, [wanted.slot, wanted.publication, str(PEEK_LIMIT)], timeout_seconds=_PEEK_SECONDS + 5
            )
    except RelayError:
        return None
    return int(count or 0)


def _count(line: Line, table: str, slot: str) -> int:
    [(count,)] = line.query(f'SELECT count(*) FROM cdc_relay."{table}" WHERE slot = $1', [slot])
    return int(count or 0)


def _read_parked(line: Line, slot: str) -> dict[str, int]:
    by_status = "SELECT status, count(*) FROM cdc_relay.parked_records WHERE slot = $1 GROUP BY 1 ORDER BY 1"
    return {status or "": int(count or 0) for status, count in line.query(by_status, [slot])}


def _read_other_slots(line: Line, tables: Sequence[str], slot: str) -> tuple[str, ...]:
    if not tables:
        return ()
    each = " UNION ".join(f'SELECT slot FROM cdc_relay."{table}" WHERE slot <> $1' for table in tables)
    return tuple(sorted(name or "" for (name,) in line.query(each, [slot])))
