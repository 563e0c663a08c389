"""What Postgres' catalogs say of our slot, publication and tables, as plain facts. Judges nothing (see preflight).

Every query here runs with no more than CONNECT: reading these catalogs needs no grant.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from cdc_relay.protocol.lsn import parse_lsn
from cdc_relay.sources.line import Line

__all__ = [
    "OLDEST_VERSION",
    "Facts",
    "Fingerprint",
    "PublicationFacts",
    "SlotFacts",
    "TableFacts",
    "read_facts",
    "read_sync_state",
]


@dataclass(frozen=True, slots=True)
class SlotFacts:
    plugin: str
    database: str
    two_phase: bool
    temporary: bool
    wal_status: str
    confirmed_lsn: int
    active_pid: int | None = None  # of the process that serves its reader
    invalidation: str = ""  # why it can never be read again (from 17 on)
    synced: bool = False  # it came from another server by slot synchronization (from 17 on)
    safe_bytes: int | None = None  # WAL until it may be lost; None: no limit
    restart_lsn: int = 0  # nothing before it is delivered again, whatever happens to the server


@dataclass(frozen=True, slots=True)
class PublicationFacts:
    oid: str
    all_tables: bool
    insert: bool
    via_root: bool


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A configured table and how the publication has it. `member` changes when the table is taken out and put back."""

    partitioned: bool
    logged: bool  # False: it, or a partition of it, is unlogged, so not in the WAL at all
    under_root: bool  # a partition whose changes the publication shows under its root's name
    columns: tuple[str, ...]  # without generated ones that the publication leaves out
    member: str  # "" when the publication does not have the table
    row_filter: str
    column_list: tuple[str, ...]  # () = every column


Fingerprint = tuple[PublicationFacts | None, tuple[tuple[str, str, str, tuple[str, ...], bool, bool], ...]]


@dataclass(frozen=True, slots=True)
class Facts:
    server_version: int
    database: str
    wal_level: str
    synchronous_standby_names: str
    wal_lsn: int
    slot: SlotFacts | None
    publication: PublicationFacts | None
    tables: dict[tuple[str, str], TableFacts]  # those that exist
    keep_bytes: int | None = None  # max_slot_wal_keep_size; None: no limit

    @property
    def fingerprint(self) -> Fingerprint:
        """Whatever, if it changed, means that rows of a configured outbox may have been skipped."""
        tables = sorted(
            (".".join(name), table.member, table.row_filter, table.column_list, table.logged, table.under_root)
            for name, table in self.tables.items()
        )
        return self.publication, tuple(tables)

    @property
    def lag_bytes(self) -> int | None:
        return None if self.slot is None else max(0, self.wal_lsn - self.slot.confirmed_lsn)

    @property
    def room_bytes(self) -> tuple[int, int] | None:
        """What may still be written before the slot may be lost, and of how much; None: there is no limit."""
        if self.slot is None or not self.keep_bytes:
            return None
        if self.slot.wal_status == "lost":
            return 0, self.keep_bytes
        return None if self.slot.safe_bytes is None else (max(0, self.slot.safe_bytes), self.keep_bytes)


OLDEST_VERSION = 150000

_SERVER = """
SELECT current_setting('server_version_num'), current_database(), current_setting('wal_level'),
       current_setting('synchronous_standby_names'),
       CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,
       (SELECT setting::bigint * 1048576 FROM pg_settings WHERE name = 'max_slot_wal_keep_size' AND setting <> '-1')
"""
_SLOT = """
SELECT plugin, database, two_phase, temporary, wal_status, coalesce(confirmed_flush_lsn, '0/0'), active_pid,
       to_jsonb(s) ->> 'invalidation_reason', to_jsonb(s) ->> 'synced', safe_wal_size, coalesce(restart_lsn, '0/0')
  FROM pg_replication_slots s WHERE slot_name = $1
"""
_PUBLICATION = "SELECT oid, puballtables, pubinsert, pubviaroot FROM pg_publication WHERE pubname = $1"
_TABLE = """
SELECT c.relkind = 'p',
       c.relpersistence = 'p' AND NOT EXISTS (
         SELECT FROM pg_partition_tree(c.oid) leaf JOIN pg_class lc ON lc.oid = leaf.relid
          WHERE leaf.isleaf AND lc.relpersistence <> 'p'),
       c.relispartition AND p.pubviaroot AND (p.puballtables OR EXISTS (
         SELECT FROM pg_partition_ancestors(c.oid) AS root(oid)
           JOIN pg_class rc ON rc.oid = root.oid
          WHERE rc.oid <> c.oid
            AND (EXISTS (SELECT FROM pg_publication_rel r WHERE r.prpubid = p.oid AND r.prrelid = rc.oid)
              OR EXISTS (SELECT FROM pg_publication_namespace s
                          WHERE s.pnpubid = p.oid AND s.pnnspid = rc.relnamespace)))),
       (SELECT json_agg(a.attname ORDER BY a.attnum) FROM pg_attribute a
         WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
           AND (a.attgenerated = '' OR to_jsonb(p) ->> 'pubgencols' = 's' OR a.attnum = ANY (pr.prattrs::int2[]))),
       CASE WHEN pr.oid IS NOT NULL THEN 'table ' || pr.oid
            WHEN pn.oid IS NOT NULL THEN 'schema ' || pn.oid
            WHEN p.puballtables THEN 'all' ELSE '' END,
       coalesce(pg_get_expr(pr.prqual, pr.prrelid), ''),
       (SELECT json_agg(a.attname ORDER BY a.attnum) FROM pg_attribute a
         WHERE a.attrelid = c.oid AND a.attnum = ANY (pr.prattrs::int2[]))
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_publication p ON p.pubname = $3
  LEFT JOIN pg_publication_rel pr ON pr.prpubid = p.oid AND pr.prrelid = c.oid
  LEFT JOIN pg_publication_namespace pn ON pn.pnpubid = p.oid AND pn.pnnspid = n.oid
 WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p')
"""
_SYNC_STATE = "SELECT coalesce(sync_state, '') FROM pg_stat_replication WHERE pid = $1::int"


def read_facts(line: Line, *, slot: str, publication: str, tables: Iterable[tuple[str, str]]) -> Facts:
    """The server's answers of one moment; the WAL position is read first, so all of it is covered by the rest."""
    version, database, wal_level, standbys, wal_lsn, keep = (value or "" for value in line.query(_SERVER)[0])
    supported = int(version) >= OLDEST_VERSION  # older catalogs lack columns that we ask for
    found = {table: _read_table(line, table, publication) for table in tables} if supported else {}
    return Facts(
        server_version=int(version),
        database=database,
        wal_level=wal_level,
        synchronous_standby_names=standbys,
        wal_lsn=parse_lsn(wal_lsn),
        slot=_read_slot(line, slot) if supported else None,
        publication=_read_publication(line, publication) if supported else None,
        tables={table: facts for table, facts in found.items() if facts is not None},
        keep_bytes=int(keep) if keep else None,
    )


def read_sync_state(line: Line, backend_pid: int) -> str:
    """`async` is what we must be; empty when the walsender is gone or hidden from our role."""
    rows = line.query(_SYNC_STATE, [str(backend_pid)])
    return rows[0][0] or "" if rows else ""


def _read_slot(line: Line, slot: str) -> SlotFacts | None:
    rows = line.query(_SLOT, [slot])
    if not rows:
        return None
    plugin, database, two_phase, temporary, wal_status, confirmed, pid, reason, synced, safe, restart = (
        value or "" for value in rows[0]
    )
    return SlotFacts(
        plugin=plugin,
        database=database,
        two_phase=two_phase == "t",
        temporary=temporary == "t",
        wal_status=wal_status,
        confirmed_lsn=parse_lsn(confirmed),
        active_pid=int(pid) if pid else None,
        invalidation=reason,
        synced=synced == "true",
        safe_bytes=int(safe) if safe else None,
        restart_lsn=parse_lsn(restart),
    )


def _read_publication(line: Line, publication: str) -> PublicationFacts | None:
    rows = line.query(_PUBLICATION, [publication])
    if not rows:
        return None
    oid, all_tables, insert, via_root = (value or "" for value in rows[0])
    return PublicationFacts(oid, all_tables == "t", insert == "t", via_root == "t")


def _read_table(line: Line, table: tuple[str, str], publication: str) -> TableFacts | None:
    rows = line.query(_TABLE, [*table, publication])
    if not rows:
        return None
    partitioned, logged, under_root, columns, member, row_filter, column_list = rows[0]
    return TableFacts(
        partitioned=partitioned == "t",
        logged=logged == "t",
        under_root=under_root == "t",
        columns=_names(columns),
        member=member or "",
        row_filter=row_filter or "",
        column_list=_names(column_list),
    )


def _names(array: str | None) -> tuple[str, ...]:
    return tuple(json.loads(array)) if array else ()
