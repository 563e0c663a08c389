"""What `status` has found, as plain data: the JSON is these fields, and docs/status.md explains each. Pure.

Ages and times are as the one who knows them says: Postgres for what is in it, the relay for itself.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "Backfill",
    "ClosedTopic",
    "DeadError",
    "Error",
    "Gap",
    "Guard",
    "Lag",
    "Parked",
    "Postgres",
    "Reader",
    "Relay",
    "Report",
    "Run",
    "Slot",
    "Trouble",
    "Verdict",
    "WaitingTopic",
]


@dataclass(frozen=True, slots=True)
class Trouble:
    """A section that could not be read."""

    section: str
    problem: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Postgres:
    version: int  # as server_version_num
    in_recovery: bool
    wal_lsn: str
    keep_limit_bytes: int | None  # max_slot_wal_keep_size; None: unlimited


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads the slot; None where Postgres hides it from our role."""

    pid: int
    role: str | None
    application_name: str | None
    address: str | None  # None also for a local socket
    since_seconds: float | None


@dataclass(frozen=True, slots=True)
class Slot:
    plugin: str | None
    database: str | None
    is_here: bool  # it belongs to the database that source.dsn leads to
    active: bool
    reader: Reader | None
    inactive_seconds: float | None  # Postgres 17 and newer
    wal_status: str | None
    invalidation_reason: str | None  # Postgres 17 and newer; on 16 only `conflicting`
    restart_lsn: str | None
    confirmed_lsn: str | None
    lag_bytes: int | None
    kept_bytes: int | None
    safe_bytes: int | None  # until it may be lost; None: never, or lost already

    @property
    def is_lost(self) -> bool:
        return self.wal_status == "lost" or self.invalidation_reason is not None


@dataclass(frozen=True, slots=True)
class Lag:
    bytes: int | None
    seconds: float | None  # None: nobody knows
    at_most: bool  # the seconds are a bound, not a measurement


@dataclass(frozen=True, slots=True)
class ClosedTopic:
    topic: str
    code: str
    reason: str
    remedy: str
    since_seconds: float


@dataclass(frozen=True, slots=True)
class Error:
    at: str
    first_at: str
    count: int
    what: str


@dataclass(frozen=True, slots=True)
class Relay:
    """The answer of /status."""

    slot: str
    version: str
    pid: int
    up_seconds: float
    state: str
    since_seconds: float
    reason: str
    role: str
    live: bool
    ready: bool
    rate_per_second: float | None
    published_records: int
    open_records: int
    open_bytes: int
    last_delivery_seconds: float | None
    lag_seconds: float | None
    reconnects: int
    sink_error: str
    closed_topics: tuple[ClosedTopic, ...]
    errors: tuple[Error, ...]


@dataclass(frozen=True, slots=True)
class Guard:
    ceiling: str
    raised_seconds: float
    settled_lsn: str
    settled_seconds: float


@dataclass(frozen=True, slots=True)
class Run:
    began_seconds: float
    ended: bool
    deaths: int


@dataclass(frozen=True, slots=True)
class Backfill:
    """One that is not finished."""

    run: str
    began_seconds: float
    stored_seconds: float


@dataclass(frozen=True, slots=True)
class Parked:
    status: str
    records: int
    bytes: int
    oldest_seconds: float | None


@dataclass(frozen=True, slots=True)
class DeadError:
    """Why a record was given up, as the lot has it."""

    at: str
    topic: str | None
    code: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class WaitingTopic:
    topic: str
    records: int


@dataclass(frozen=True, slots=True)
class Gap:
    accepted_at: str
    accepted_by: str
    problem: str
    from_lsn: str
    to_lsn: str
    from_time: str
    to_time: str
    row_estimate: int | None
    replay: str


@dataclass(frozen=True, slots=True)
class Verdict:
    level: str  # ok, attention, act
    text: str


@dataclass(frozen=True, slots=True)
class Report:
    file: str
    slot_name: str
    looked_at: str
    url: str | None  # where the relay was asked; None: http.listen names no place
    postgres: Postgres | None
    slot: Slot | None
    relay: Relay | None
    lag: Lag
    parked: tuple[Parked, ...] | None
    waiting_topics: tuple[WaitingTopic, ...] | None
    dead_errors: tuple[DeadError, ...] | None
    guard: Guard | None
    run: Run | None
    backfill: Backfill | None
    gaps: tuple[Gap, ...] | None
    troubles: tuple[Trouble, ...]

    def trouble(self, section: str) -> Trouble | None:
        return next((trouble for trouble in self.troubles if trouble.section == section), None)

    def parked_count(self, *statuses: str) -> int:
        """Of these statuses, or of all."""
        return sum(one.records for one in self.parked or () if not statuses or one.status in statuses)
