"""What a preflight need not know of Postgres, and an operator should: settings, readers, standbys, transactions.

Reads only, with no more than CONNECT; what the role may not see comes back as None. Judges nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from time import time as read_clock
from typing import Any

from cdc_relay.protocol.lsn import parse_lsn
from cdc_relay.sources.line import Line

__all__ = [
    "OpenTransaction",
    "PreparedTransaction",
    "Reader",
    "ServerFacts",
    "SlotDetails",
    "read_published_operations",
    "read_server",
    "read_slot",
    "read_types",
]

_BYTES = {"B": 1, "kB": 1 << 10, "8kB": 8 << 10, "MB": 1 << 20, "GB": 1 << 30}
_SECONDS = {"ms": 0.001, "s": 1, "min": 60}
_SETTINGS = (
    "max_slot_wal_keep_size",
    "wal_sender_timeout",
    "idle_replication_slot_timeout",
    "max_replication_slots",
    "max_wal_senders",
    "synchronized_standby_slots",
)
_SERVER = """
SELECT json_build_object(
  'role', current_user,
  'is_standby', pg_is_in_recovery(),
  'is_read_only', current_setting('transaction_read_only') = 'on',
  'now', extract(epoch FROM clock_timestamp()),
  'settings', (SELECT json_object_agg(name, json_build_array(setting, unit)) FROM pg_settings WHERE name = ANY ($1)),
  'slots', (SELECT count(*) FROM pg_replication_slots),
  'senders', (SELECT count(*) FROM pg_stat_replication WHERE pid <> pg_backend_pid()),
  'standbys', (SELECT coalesce(json_agg(coalesce(nullif(r.application_name, ''), r.pid::text) ORDER BY r.pid), '[]')
                 FROM pg_stat_replication r WHERE NOT EXISTS (
                   SELECT FROM pg_replication_slots s WHERE s.active_pid = r.pid AND s.slot_type = 'logical')),
  'physical_slots', (SELECT coalesce(json_object_agg(slot_name, active ORDER BY slot_name), '{}')
                       FROM pg_replication_slots WHERE slot_type = 'physical' AND NOT temporary))
"""
# Whoever writes holds a lock on its own transaction, and everybody may see that; when it began, only some.
_WRITERS = """
SELECT json_agg(json_build_object('pid', a.pid, 'role', a.usename, 'application', a.application_name,
                                  'seconds', extract(epoch FROM clock_timestamp() - a.xact_start)) ORDER BY a.pid)
  FROM pg_locks l JOIN pg_stat_activity a USING (pid)
 WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted
"""
_PREPARED = """
SELECT json_agg(json_build_object('gid', gid, 'database', database,
                                  'seconds', extract(epoch FROM clock_timestamp() - prepared)) ORDER BY prepared)
  FROM pg_prepared_xacts
"""
_SLOT = """
SELECT to_jsonb(s), to_jsonb(a) FROM pg_replication_slots s LEFT JOIN pg_stat_activity a ON a.pid = s.active_pid
 WHERE s.slot_name = $1
"""
_OPERATIONS = """
SELECT concat_ws(', ', CASE WHEN pubupdate THEN 'update' END, CASE WHEN pubdelete THEN 'delete' END,
                 CASE WHEN pubtruncate THEN 'truncate' END)
  FROM pg_publication WHERE pubname = $1
"""
_TYPES = """
WITH RECURSIVE base AS (
    SELECT a.attname, a.atttypid AS type
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT base.attname, t.typbasetype FROM base JOIN pg_type t ON t.oid = base.type WHERE t.typtype = 'd'
)
SELECT base.attname, format_type(t.oid, NULL) FROM base JOIN pg_type t ON t.oid = base.type WHERE t.typtype <> 'd'
"""


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    pid: int
    role: str
    application: str
    seconds: float | None  # None: our role may not see when it began


@dataclass(frozen=True, slots=True)
class PreparedTransaction:
    gid: str
    database: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ServerFacts:
    role: str
    is_standby: bool
    is_read_only: bool
    skew_seconds: float  # how far this machine's clock is ahead
    keep_bytes: int | None  # max_slot_wal_keep_size; None: no limit
    sender_timeout_seconds: float
    idle_slot_seconds: float | None  # None: this version has no such setting
    slot_limit: int
    slot_count: int
    sender_limit: int
    sender_count: int
    standbys: tuple[str, ...]  # that are connected
    physical_slots: tuple[str, ...]  # that a standby, or another program, reads now
    idle_physical_slots: tuple[str, ...]
    synchronized_slots: str | None  # None: this version has no such setting
    writers: tuple[OpenTransaction, ...] = ()
    prepared: tuple[PreparedTransaction, ...] = ()

    @property
    def has_standbys(self) -> bool:
        return bool(self.standbys or self.physical_slots or self.idle_physical_slots)


@dataclass(frozen=True, slots=True)
class Reader:
    pid: int
    application: str
    address: str


@dataclass(frozen=True, slots=True)
class SlotDetails:
    restart_lsn: int | None
    safe_bytes: int | None  # how much WAL may still be written before it is lost; None: no limit
    failover: bool | None  # None: this version knows no failover slots
    reader: Reader | None


def read_server(line: Line) -> ServerFacts:
    asked_at = read_clock()
    found = _object(line, _SERVER, "{" + ",".join(_SETTINGS) + "}")
    answered_at = read_clock()
    settings = found["settings"]
    keep = _bytes(settings, "max_slot_wal_keep_size")
    return ServerFacts(
        role=found["role"],
        is_standby=found["is_standby"],
        is_read_only=found["is_read_only"],
        skew_seconds=_skew(float(found["now"]), asked_at, answered_at),
        keep_bytes=None if keep < 0 else keep,
        sender_timeout_seconds=_seconds(settings, "wal_sender_timeout") or 0.0,
        idle_slot_seconds=_seconds(settings, "idle_replication_slot_timeout"),
        slot_limit=int(settings["max_replication_slots"][0]),
        slot_count=found["slots"],
        sender_limit=int(settings["max_wal_senders"][0]),
        sender_count=found["senders"],
        standbys=tuple(found["standbys"]),
        physical_slots=tuple(name for name, is_active in found["physical_slots"].items() if is_active),
        idle_physical_slots=tuple(name for name, is_active in found["physical_slots"].items() if not is_active),
        synchronized_slots=settings.get("synchronized_standby_slots", (None,))[0],
        writers=tuple(OpenTransaction(**each) for each in _list(line, _WRITERS)),
        prepared=tuple(PreparedTransaction(**each) for each in _list(line, _PREPARED)),
    )


def read_slot(line: Line, slot: str) -> SlotDetails | None:
    rows = line.query(_SLOT, [slot])
    if not rows:
        return None
    found, activity = json.loads(rows[0][0] or "{}"), json.loads(rows[0][1] or "null")
    return SlotDetails(
        restart_lsn=parse_lsn(found["restart_lsn"]) if found["restart_lsn"] else None,
        safe_bytes=found["safe_wal_size"],
        failover=found.get("failover"),
        reader=None if found["active_pid"] is None else _reader(found["active_pid"], activity or {}),
    )


def read_published_operations(line: Line, publication: str) -> str:
    """Those beside insert, as words; empty when there are none, or no publication."""
    rows = line.query(_OPERATIONS, [publication])
    return rows[0][0] or "" if rows else ""


def read_types(line: Line, schema: str, table: str) -> dict[str, str]:
    """By column, as SQL names them; domains as what they stand for."""
    return {name or "": kind or "" for name, kind in line.query(_TYPES, [schema, table])}


def _skew(server_now: float, asked_at: float, answered_at: float) -> float:
    """The answer was made between asking and reading it: what lies within is no difference."""
    if server_now < asked_at:
        return asked_at - server_now
    return min(0.0, answered_at - server_now)


def _reader(pid: int, activity: Mapping[str, Any]) -> Reader:
    return Reader(pid, activity.get("application_name") or "", activity.get("client_addr") or "")


def _object(line: Line, query: str, *params: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line.query(query, list(params))[0][0] or "{}")
    return found


def _list(line: Line, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(line.query(query)[0][0] or "[]")
    return found


def _bytes(settings: Mapping[str, Any], name: str) -> int:
    value, unit = settings[name]
    return int(value) * _BYTES[unit]


def _seconds(settings: Mapping[str, Any], name: str) -> float | None:
    if name not in settings:
        return None
    value, unit = settings[name]
    return float(value) * _SECONDS[unit]
