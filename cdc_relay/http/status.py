"""The page `/status`: all that `Stats` has, for `cdc-relay status`. Pure functions of the values and two clocks."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from cdc_relay import __version__
from cdc_relay.http.health import judge_live, judge_ready, take_snapshot
from cdc_relay.stats import Closure, Note, State, Stats

__all__ = ["describe", "lag_seconds", "rate_per_second"]

_READING = (State.STREAMING, State.HOLDING)
_RATE_SECONDS = 10.0
_SHORTEST_SECONDS = 0.5  # between two samples that make a rate


def describe(stats: Stats, *, now: float, wall: float) -> dict[str, object]:
    """`now` by the monotonic clock, `wall` in seconds since 1970."""
    seen = take_snapshot(stats)
    live, ready = judge_live(seen, now), judge_ready(seen, now)
    shown = live if not live.ok else ready
    delivered_at = stats.last_delivered_at
    return {
        "slot": stats.slot,
        "version": __version__,
        "pid": os.getpid(),
        "up_seconds": _age(stats.started_at, now),
        "state": seen.state.value,
        "since_seconds": _age(seen.state_since, now),
        "reason": shown.reason or seen.state_reason,
        "role": ready.role,
        "live": live.ok,
        "ready": ready.ok,
        "rate_per_second": rate_per_second(stats.samples, (now, seen.published_count)),
        "published_records": seen.published_count,
        "open_records": seen.open_record_count,
        "open_bytes": seen.open_bytes,
        "last_delivery_seconds": None if delivered_at is None else _age(delivered_at, now),
        "lag_seconds": lag_seconds(stats, wall),
        "reconnects": stats.reconnect_count,
        "sink_error": seen.sink_error,
        "closed_topics": [_describe_closure(closure, now) for closure in stats.closed_topics],
        "errors": [_describe_note(note) for note in reversed(stats.notes)],
    }


def rate_per_second(samples: tuple[tuple[float, int], ...], latest: tuple[float, int]) -> float | None:
    """Over the last ten seconds, or as far back as the samples go; None when there is nothing to compare with."""
    now, count = latest
    earlier = [sample for sample in samples if now - sample[0] >= _SHORTEST_SECONDS]
    if not earlier:
        return None
    recent = [sample for sample in earlier if now - sample[0] <= _RATE_SECONDS]
    at, count_then = recent[0] if recent else earlier[-1]
    return round((count - count_then) / (now - at), 1)


def lag_seconds(stats: Stats, wall: float) -> float | None:
    """How far what is settled is behind what was committed; None where this process cannot know."""
    if stats.state in (State.STARTING, State.STANDBY):
        return None
    if stats.oldest_commit_us is not None:
        return round(max(0.0, wall - stats.oldest_commit_us / 1e6), 1)
    if stats.lag_us is None or stats.state not in _READING:
        return None
    return round(max(0.0, stats.lag_us / 1e6), 1)


def _describe_closure(closure: Closure, now: float) -> dict[str, object]:
    return {
        "topic": closure.topic,
        "code": closure.failure.code,
        "reason": closure.failure.reason,
        "remedy": closure.failure.remedy,
        "since_seconds": _age(closure.since, now),
    }


def _describe_note(note: Note) -> dict[str, object]:
    return {"at": _moment(note.last_at), "first_at": _moment(note.first_at), "count": note.times, "what": note.what}


def _age(at: float, now: float) -> float:
    return round(max(0.0, now - at), 1)


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
