"""What came of it, against what is wanted. Pure."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tests.soak.course import Disturbance
from tests.soak.meter import Reading

__all__ = ["Verdict", "calm_p99_by_minute", "calm_seconds", "calm_test", "judge", "p99"]

SETTLED_SECONDS = 300.0  # what the end is compared with begins by then
READING_COUNT = 12  # a minute of them, of its memory
DESCRIPTOR_READING_COUNT = 60  # a line to a broker that is away is missing for a while: the fewest of a long time
AFTER_SECONDS = 5.0  # behind a disturbance: what waited has come, and the machine is itself again
RSS_SHARE = 0.10
DELAY_FACTOR = 1.5  # identical rounds of the latency benchmark differ by as much
RATE_SHARE = 0.97  # of the events that were asked for, while nothing was disturbed
FAULT_SHARE = 0.8  # of one a minute: the next one waits until the last is repaired, and some repairs take longer
CALM_SHARE = 1 / 3  # of the whole time: a relay that takes most of a minute to recover has too little of it


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
    calm_share: float
    calm_duplicate_count: int
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
        if self.calm_share < CALM_SHARE:
            found.append(f"only {self.calm_share:.0%} of the time were calm: it takes long to recover")
        if self.calm_duplicate_count:
            found.append(f"{self.calm_duplicate_count} events came again between faults")
        if self.fault_count < (self.minutes - 1) * FAULT_SHARE:
            found.append(f"only {self.fault_count} faults in {self.minutes:.0f} minutes")
        return found


def judge(
    readings: Sequence[Reading],
    arrivals: Sequence[tuple[float, float]],
    disturbances: Sequence[Disturbance],
    *,
    repeated_at: Iterable[float],
    began_at: float,
    ended_at: float,
    wanted_rate: float,
) -> Verdict:
    """`arrivals`: when a record came, and how many milliseconds it took; `repeated_at`: when one came again."""
    is_calm = calm_test(disturbances)
    calm = calm_seconds(disturbances, began_at=began_at, ended_at=ended_at)
    calm_count = sum(is_calm(at) for at, _ in arrivals if began_at <= at < ended_at)
    settled_at, seconds = began_at + SETTLED_SECONDS, ended_at - began_at
    quiet = [each for each in readings if settled_at <= each.at <= ended_at and is_calm(each.at)]
    if not quiet:
        raise ValueError("no moment was calm after the first five minutes")
    quarter, several = seconds / 4, max(1, min(DESCRIPTOR_READING_COUNT, len(quiet) // 2))
    return Verdict(
        statistics.median(each.rss_mb for each in quiet[:READING_COUNT]),
        statistics.median(each.rss_mb for each in quiet[-READING_COUNT:]),
        min(each.descriptor_count for each in quiet[:several]),
        min(each.descriptor_count for each in quiet[-several:]),
        p99([delay for at, delay in arrivals if settled_at <= at < settled_at + quarter and is_calm(at)]),
        p99([delay for at, delay in arrivals if ended_at - quarter <= at < ended_at and is_calm(at)]),
        calm_rate=calm_count / calm,
        wanted_rate=wanted_rate,
        calm_share=calm / seconds,
        calm_duplicate_count=sum(is_calm(at) for at in repeated_at if began_at <= at < ended_at),
        fault_count=len(disturbances),
        minutes=seconds / 60,
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
    return sorted(delays)[int(len(delays) * 0.99)] if delays else 0.0
