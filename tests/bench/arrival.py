"""When the records of a drain arrived: the first one and the last. Watches a count and the clock, and knows no peer.

A record that comes twice hides one that is missing: so the end is when enough have come, and then no more do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["STALL_SECONDS", "Arrival", "watch_arrival"]

STALL_SECONDS = 180  # for whatever the harness waits for
QUIET_SECONDS = 0.5
SHORTEST_PAUSE_SECONDS = 0.02


@dataclass(frozen=True)
class Arrival:
    """By the monotonic clock; and the count in the end, which duplicates raise."""

    first_at: float
    last_at: float
    count: int


def _pause(longest_seconds: float, spent_seconds: float, done: float) -> float:
    """Until the next look: shorter towards the end, whose moment is what is wanted."""
    if not 0 < done < 1:
        return longest_seconds
    left_seconds = spent_seconds / done - spent_seconds
    return min(longest_seconds, max(SHORTEST_PAUSE_SECONDS, left_seconds / 2))


def watch_arrival(
    count: Callable[[], int],
    before: int,
    target: int,
    *,
    pause_seconds: float,
    quiet_seconds: float = QUIET_SECONDS,
    stall_seconds: float = STALL_SECONDS,
) -> Arrival:
    """TimeoutError with what is left, where it takes too long."""
    started = first = last = time.monotonic()
    seen = before
    while seen < target or time.monotonic() - last < quiet_seconds:
        now_seen, now = count(), time.monotonic()
        if now_seen > seen:
            first, last, seen = (now if seen == before else first), now, now_seen
        if now - started > stall_seconds:
            raise TimeoutError(f"{target - seen} events left after {stall_seconds:g} s")
        done = (seen - before) / max(1, target - before)
        time.sleep(_pause(pause_seconds, now - started, done))
    return Arrival(first, last, seen)
