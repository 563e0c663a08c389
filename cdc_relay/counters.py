"""What the loop counts for its metrics: plain integers, added per batch of verdicts. Knows no clock and no library.

One writer, the loop's thread. Readers on other threads take `snapshot()` of a dict: a copy is atomic, a walk is not.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeVar

from cdc_relay.model import Origin

__all__ = ["BOUNDS_US", "Counters", "Latency", "Span", "Stage", "StageTime", "Survey", "TopicCounter", "snapshot"]

K = TypeVar("K")
V = TypeVar("V")

TOPIC_LIMIT = 200  # by a template topics are as many as its values are: what comes later is counted together
OTHER = "(other)"  # no topic is called so: the broker refuses the brackets
NO_TOPIC = "(none)"  # it could not be routed

BOUNDS_US = (
    *(1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000),
    *(1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000, 300_000_000, 1_800_000_000),
)


class Span(NamedTuple):
    """When so many tickets were committed."""

    ticket_count: int
    earliest_us: int  # 0: a message outside transactions is among them
    latest_us: int
    total_us: int


class Survey(NamedTuple):
    """What tickets have in common: how many there are of each outbox and topic, and when those of an outbox came."""

    series: Mapping[tuple[Origin, str], int]
    spans: Mapping[Origin, Span]


class Stage(StrEnum):
    DECODE = "decode"
    ROUTE = "route"
    PRODUCE = "produce"
    CONFIRM = "confirm"


class StageTime:
    __slots__ = ("count", "seconds")

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        self.count += 1
        self.seconds += max(0.0, seconds)


class TopicCounter:
    """Of one outbox and one topic."""

    __slots__ = ("failed", "published", "refused", "retried")

    def __init__(self) -> None:
        self.published = 0
        self.refused = 0  # verdicts that were no acknowledgement
        self.retried = 0
        self.failed = 0  # given up


class Latency:
    """How many records took how long, by bucket; the last is for those beyond all bounds."""

    __slots__ = ("buckets", "sum_us")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS_US) + 1)
        self.sum_us = 0

    def add(self, commit_times_us: Sequence[int], now_us: int) -> None:
        buckets = self.buckets
        for time_us in commit_times_us:
            buckets[bisect_left(BOUNDS_US, now_us - time_us)] += 1
        self.sum_us += max(0, now_us * len(commit_times_us) - sum(commit_times_us))

    def add_all(self, span: Span, now_us: int) -> bool:
        """So many at once. False, and nothing is added, where they are not of one bucket; behind, they always are."""
        bucket = bisect_left(BOUNDS_US, now_us - span.latest_us)
        if bucket != bisect_left(BOUNDS_US, now_us - span.earliest_us):
            return False
        self.buckets[bucket] += span.ticket_count
        self.sum_us += max(0, now_us * span.ticket_count - span.total_us)
        return True


class Counters:
    def __init__(self) -> None:
        self.topics: dict[tuple[str, str], TopicCounter] = {}
        self.latencies: dict[str, Latency] = {}  # by outbox
        self.parked: Counter[str] = Counter()  # by reason
        self.stages = {stage: StageTime() for stage in Stage}

    def of(self, outbox: str, topic: str) -> TopicCounter:
        series = outbox, topic or NO_TOPIC
        if series not in self.topics and len(self.topics) >= TOPIC_LIMIT:
            series = outbox, OTHER
        return self.topics.setdefault(series, TopicCounter())

    def latency_of(self, outbox: str) -> Latency:
        return self.latencies.setdefault(outbox, Latency())


def snapshot(counted: Mapping[K, V]) -> dict[K, V]:
    return dict(counted)
