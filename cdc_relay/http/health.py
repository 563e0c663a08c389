"""The rules of `/livez` and `/readyz`, as pure functions of a snapshot and a time. No sockets, no clock of its own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from cdc_relay.parking.entry import Status
from cdc_relay.stats import State, Stats

__all__ = ["Health", "Snapshot", "judge_live", "judge_ready", "take_snapshot"]

TURN_LIMIT_SECONDS = 30.0  # a loop that does not turn for so long is stuck: restart the process
SETTLE_LIMIT_SECONDS = 60.0  # open records and nothing settled for so long: nothing flows

_NOT_READY = frozenset({State.STARTING, State.WAITING, State.RELEASED, State.STOPPING})
_READERS = frozenset({State.STREAMING, State.HOLDING, State.STOPPING})


@dataclass(frozen=True, slots=True)
class Snapshot:
    state: State
    state_reason: str
    state_since: float
    last_turn_at: float
    last_settled_at: float
    open_record_count: int
    open_bytes: int
    published_count: int
    slot_lag_bytes: int | None
    sink_error: str
    closed_topics: tuple[str, ...] = ()  # their names
    dead_count: int | None = None  # in the lot; None until it was asked
    oldest_commit_us: int | None = None  # of what is open, as sampled


@dataclass(frozen=True, slots=True)
class Health:
    ok: bool
    role: str  # reader (of the slot), standby or none
    reason: str
    since_seconds: float  # how long the reason, or without one the state, has lasted
    snapshot: Snapshot

    def as_json(self) -> dict[str, object]:
        seen = self.snapshot
        return {
            "status": "ok" if self.ok else "failing",
            "role": self.role,
            "state": seen.state.value,
            "reason": self.reason,
            "since_seconds": round(max(0.0, self.since_seconds), 1),
            "published_records": seen.published_count,
            "open_records": seen.open_record_count,
            "open_bytes": seen.open_bytes,
            "slot_lag_bytes": seen.slot_lag_bytes,
            "sink_error": seen.sink_error,
            "closed_topics": list(seen.closed_topics),
            "dead_records": seen.dead_count,
        }


def take_snapshot(stats: Stats) -> Snapshot:
    # The count before the time: the loop sets the time when the first record opens, so a count that is
    # seen can never be paired with the time of an earlier, finished batch.
    open_record_count, open_bytes = stats.open_record_count, stats.open_bytes
    return Snapshot(
        state=stats.state,
        state_reason=stats.state_reason,
        state_since=stats.state_since,
        last_turn_at=stats.last_turn_at,
        last_settled_at=stats.last_settled_at,
        open_record_count=open_record_count,
        open_bytes=open_bytes,
        published_count=stats.published_count,
        slot_lag_bytes=stats.slot_lag_bytes,
        sink_error=stats.sink_error,
        closed_topics=tuple(closure.topic for closure in stats.closed_topics),
        dead_count=None if stats.lot is None else stats.lot.counts.get(Status.DEAD, 0),
        oldest_commit_us=stats.oldest_commit_us,
    )


def judge_live(seen: Snapshot, now: float) -> Health:
    silent_seconds = now - seen.last_turn_at
    if silent_seconds >= TURN_LIMIT_SECONDS:
        reason = f"the loop has not turned for {silent_seconds:.0f} s (limit {TURN_LIMIT_SECONDS:.0f} s)"
        return _failing(seen, reason, silent_seconds)
    return _passing(seen, now)


def judge_ready(seen: Snapshot, now: float) -> Health:
    if seen.state in _NOT_READY:
        return _failing(seen, seen.state_reason or f"the relay is {seen.state.value}", now - seen.state_since)
    if seen.state is State.STANDBY:
        return _passing(seen, now)
    stalled_seconds = now - seen.last_settled_at
    if seen.open_record_count and stalled_seconds >= SETTLE_LIMIT_SECONDS:
        return _failing(seen, _describe_stall(seen, stalled_seconds), stalled_seconds)
    return _passing(seen, now)


def _describe_stall(seen: Snapshot, stalled_seconds: float) -> str:
    stall = f"{seen.open_record_count} records are open{_describe_oldest(seen)} and none was settled for"
    stall += f" {stalled_seconds:.0f} s"
    cause = seen.sink_error or seen.state_reason
    return f"{stall} (limit {SETTLE_LIMIT_SECONDS:.0f} s)" + (f": {cause}" if cause else "")


def _describe_oldest(seen: Snapshot) -> str:
    if seen.oldest_commit_us is None:
        return ""
    return f", the oldest committed at {datetime.fromtimestamp(seen.oldest_commit_us / 1e6, UTC):%Y-%m-%dT%H:%M:%SZ},"


def _passing(seen: Snapshot, now: float) -> Health:
    return Health(True, _role(seen), seen.state_reason, now - seen.state_since, seen)


def _failing(seen: Snapshot, reason: str, since_seconds: float) -> Health:
    return Health(False, _role(seen), reason, since_seconds, seen)


def _role(seen: Snapshot) -> str:
    if seen.state in _READERS:
        return "reader"
    return "standby" if seen.state is State.STANDBY else "none"
