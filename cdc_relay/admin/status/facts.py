"""What Postgres knows: slot, guard and accepted gaps at the source; parked records and the last run in the lot.

Rows in, sections of the report out. Opens nothing, and lets every error pass.
"""

from __future__ import annotations

import json
from typing import Any

from cdc_relay.admin.status import queries
from cdc_relay.admin.status.report import (
    Backfill,
    DeadError,
    Gap,
    Guard,
    Parked,
    Postgres,
    Reader,
    Run,
    Slot,
    WaitingTopic,
)
from cdc_relay.parking.entry import LIVE
from cdc_relay.parking.queries import find
from cdc_relay.sources.line import Line

__all__ = [
    "read_backfill",
    "read_dead_errors",
    "read_gaps",
    "read_guard",
    "read_parked",
    "read_postgres",
    "read_run",
    "read_slot",
    "read_waiting_topics",
]


def read_postgres(line: Line) -> Postgres:
    [(version, in_recovery, wal_lsn, keep_limit)] = line.query(queries.POSTGRES)
    limit = int(keep_limit or -1)
    return Postgres(int(version or 0), in_recovery == "t", wal_lsn or "0/0", None if limit < 0 else limit)


def read_slot(line: Line, slot: str, wal_lsn: str) -> Slot | None:
    rows = line.query(queries.SLOT, [slot, wal_lsn])
    return _slot(json.loads(rows[0][0] or "{}")) if rows else None


def read_guard(line: Line, slot: str) -> Guard | None:
    rows = line.query(queries.GUARD, [slot])
    if not rows:
        return None
    ceiling, raised, settled_lsn, settled = rows[0]
    return Guard(ceiling or "", _seconds(raised), settled_lsn or "", _seconds(settled))


def read_gaps(line: Line, slot: str) -> tuple[Gap, ...]:
    """The newest first."""
    return tuple(_gap(row) for row in line.query(queries.GAPS, [slot]))


def read_backfill(line: Line, slot: str) -> Backfill | None:
    rows = line.query(queries.BACKFILL, [slot])
    return Backfill(rows[0][0] or "", _seconds(rows[0][1]), _seconds(rows[0][2])) if rows else None


def read_run(line: Line, slot: str) -> Run | None:
    rows = line.query(queries.RUN, [slot])
    return Run(_seconds(rows[0][0]), rows[0][1] == "t", int(rows[0][2] or 0)) if rows else None


def read_parked(line: Line, slot: str) -> tuple[Parked, ...]:
    """Every status that is not done with, also where there is none."""
    usage = {status: rest for status, *rest in line.query(find("usage"), [slot])}
    return tuple(_parked(status.value, usage.get(status.value)) for status in LIVE)


def read_waiting_topics(line: Line, slot: str) -> tuple[WaitingTopic, ...]:
    rows = line.query(queries.WAITING_TOPICS, [slot])
    return tuple(WaitingTopic(topic or "", int(count or 0)) for topic, count in rows)


def read_dead_errors(line: Line, slot: str) -> tuple[DeadError, ...]:
    return tuple(DeadError(at or "", *rest) for at, *rest in line.query(queries.DEAD_ERRORS, [slot]))


def _parked(status: str, usage: list[str | None] | None) -> Parked:
    if usage is None:
        return Parked(status, 0, 0, None)
    count, size, oldest = usage
    return Parked(status, int(count or 0), int(size or 0), _seconds(oldest))


def _slot(seen: dict[str, Any]) -> Slot:
    reason = seen.get("invalidation_reason") or ("conflicting" if seen.get("conflicting") else None)
    return Slot(
        plugin=seen["plugin"],
        database=seen["database"],
        is_here=bool(seen["is_here"]),
        active=seen["active"],
        reader=_reader(seen) if seen["active_pid"] else None,
        inactive_seconds=_rounded(seen["inactive_seconds"]),
        wal_status=seen["wal_status"],
        invalidation_reason=reason,
        restart_lsn=seen["restart_lsn"],
        confirmed_lsn=seen["confirmed_flush_lsn"],
        lag_bytes=seen["lag_bytes"],
        kept_bytes=seen["kept_bytes"],
        safe_bytes=seen["safe_wal_size"],
    )


def _reader(seen: dict[str, Any]) -> Reader:
    since = _rounded(seen["since_seconds"])
    return Reader(seen["active_pid"], seen["role"], seen["application_name"], seen["address"], since)


def _gap(row: tuple[str | None, ...]) -> Gap:
    at, by, problem, from_lsn, to_lsn, from_time, to_time, estimate, replay = row
    return Gap(
        accepted_at=at or "",
        accepted_by=by or "",
        problem=problem or "",
        from_lsn=from_lsn or "",
        to_lsn=to_lsn or "",
        from_time=from_time or "",
        to_time=to_time or "",
        row_estimate=None if estimate is None else int(estimate),
        replay=replay or "",
    )


def _seconds(text: str | None) -> float:
    return round(max(0.0, float(text or 0)), 1)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(max(0.0, value), 1)
