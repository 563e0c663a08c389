"""What came of it, against what is wanted. Pure."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.soak.course import Disturbance
from tests.soak.meter import Reading

__all__ = ["Verdict", "calm_p99_by_minute", "calm_seconds", "calm_test", "judge", "p99"]

SETTLED_SECONDS = 300.0  # memory is compared with what it was by then
AROUND_SECONDS = 60.0
AFTER_SECONDS = 5.0  # behind a disturbance: what waited has come, and the machine is itself again
RSS_SHARE = 0.10
DELAY_FACTOR = 1.5  # identical rounds of the latency benchmark differ by as much
RATE_SHARE = 0.97  # of the events that were asked for, while nothing was disturbed
FAULT_SHARE = 0.8  # of one a minute: the next one waits until the last is repaired, and some repairs take longer


@dataclass(frozen=True)
class Verdict:
    early_rss_mb: float
    late_rss_mb: float
    early_descriptors: int
    late_descriptors: int
    early_p99_ms: float
    late_p99_ms: float
    calm_rate: float  # events per second
    wanted_rate: float
    fault_count: int
    minutes: float

    @property
    def complaints(self) -> list[str]:
        found = []
        if self.late_rss_mb > self.early_rss_mb * (1 + RSS_SHARE):
            found.append(f"memory grew from {self.early_rss_mb:.1f} to {self.late_rss_mb:.1f} MB")
        if self.late_descriptors > self.early_descriptors:
            found.append(f"file descriptors grew from {self.early_descriptors} to {self.late_descriptors}")
        if self.late_p99_ms > self.early_p99_ms * DELAY_FACTOR:
            found.append(f"p99 between faults grew from {self.early_p99_ms:.1f} to {self.late_p99_ms:.1f} ms")
        if self.calm_rate < self.wanted_rate * RATE_SHARE:
            found.append(f"only {self.calm_rate:,.0f} events/s came between faults, of {self.wanted_rate:,.0f}")
        if self.fault_count < (self.minutes - 1) * FAULT_SHARE:
            found.append(f"only {self.fault_count} faults in {self.minutes:.0f} minutes")
        return found


def judge(
    readings: Sequence[Reading],
    arrivals: Sequence[tuple[float, float]],
    disturbances: Sequence[Disturbance],
    *,
    began_at: float,
    ended_at: float,
    wanted_rate: float,
) -> Verdict:
    """`arrivals`: when a record came, and how many milliseconds it took."""
    is_calm = calm_test(disturbances)
    calm_count = sum(is_calm(at) for at, _ in arrivals if began_at <= at < ended_at)
    quiet = [each for each in readings if is_calm(each.at)]
    early = [each for each in quiet if 0 <= each.at - began_at - SETTLED_SECONDS < AROUND_SECONDS]
    late = [each for each in quiet if 0 <= ended_at - each.at < AROUND_SECONDS]
    quarter = (ended_at - began_at) / 4
    return Verdict(
        statistics.median(each.rss_mb for each in early),
        statistics.median(each.rss_mb for each in late),
        min(each.descriptor_count for each in early),
        min(each.descriptor_count for each in late),
        p99([delay for at, delay in arrivals if at < began_at + quarter and is_calm(at)]),
        p99([delay for at, delay in arrivals if at >= ended_at - quarter and is_calm(at)]),
        calm_rate=calm_count / calm_seconds(disturbances, began_at=began_at, ended_at=ended_at),
        wanted_rate=wanted_rate,
        fault_count=len(disturbances),
        minutes=(ended_at - began_at) / 60,
    )


def calm_p99_by_minute(
    arrivals: Sequence[tuple[float, float]], disturbances: Sequence[Disturbance], *, began_at: float
) -> dict[int, float]:
    """Minutes in which nothing was calm for a moment are left out."""
    is_calm, delays = calm_test(disturbances), defaultdict[int, list[float]](list)
    for at, delay in arrivals:
        if is_calm(at):
            delays[int((at - began_at) // 60)].append(delay)
    return {minute: p99(each) for minute, each in sorted(delays.items())}


def calm_test(disturbances: Sequence[Disturbance]) -> Callable[[float], bool]:
    """Disturbances come one after the other: the last one that began decides."""
    ordered = sorted(disturbances, key=lambda each: each.began_at)
    begins = [each.began_at for each in ordered]

    def is_calm(at: float) -> bool:
        index = bisect_right(begins, at) - 1
        return index < 0 or at >= ordered[index].ended_at + AFTER_SECONDS

    return is_calm


def calm_seconds(disturbances: Sequence[Disturbance], *, began_at: float, ended_at: float) -> float:
    """How much of that time `calm_test` calls calm."""
    calm, calm_since = 0.0, began_at
    for each in sorted(disturbances, key=lambda each: each.began_at):
        calm += max(0.0, min(each.began_at, ended_at) - calm_since)
        calm_since = max(calm_since, each.ended_at + AFTER_SECONDS)
    return calm + max(0.0, ended_at - calm_since)


def p99(delays: Sequence[float]) -> float:
    return sorted(delays)[int(len(delays) * 0.99)]
