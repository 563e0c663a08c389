"""What was committed and what arrived: counts, latency, and the verdict. Does no I/O and asks no clock.

Latency is taken on one monotonic clock, that of the demo's own process. It begins just before the writer sends COMMIT
and ends when the consumer's poll has returned the record. So it includes the COMMIT itself: an upper bound that is
never negative and is not rounded to the milliseconds of a record's timestamp.
"""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from uuid import UUID

__all__ = ["Count", "Delivery", "RateHistory", "Summary", "Tally", "percentile"]

_RECENT_LATENCY_COUNT = 2_000
_RECENT_DELIVERY_COUNT = 8


@dataclass(frozen=True, slots=True)
class Delivery:
    """A record as the consumer received it."""

    topic: str
    key: str
    type: str
    id: UUID | None  # None: the record came without a readable id, which no committed row explains


@dataclass(frozen=True, slots=True)
class Count:
    """The numbers of one moment, for the live view."""

    committed: int
    rolled_back: int
    delivered: int
    duplicates: int
    awaiting: int
    latency_p50_ms: float | None
    latency_p99_ms: float | None
    recent: tuple[Delivery, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """The verdict: are the delivered ids exactly the committed ones? Duplicates are allowed, at-least-once."""

    committed: int
    delivered: int
    rolled_back: int
    duplicates: int
    missing: int
    unexpected: int
    per_second: float
    latency_p50_ms: float | None
    latency_p99_ms: float | None

    @property
    def is_exact(self) -> bool:
        return self.missing == 0 and self.unexpected == 0 and self.delivered == self.committed


class Tally:
    """Written to by the writer's and the consumer's thread, read by the main one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._sent_at: dict[bytes, float] = {}  # ids whose COMMIT was sent and that have not arrived
        self._delivered: set[bytes] = set()  # one entry of about 90 bytes per event for as long as the demo runs
        self._committed_count = self._rolled_back_count = 0
        self._duplicate_count = self._unexpected_count = 0
        self._latencies = array("d")
        self._recent: deque[Delivery] = deque(maxlen=_RECENT_DELIVERY_COUNT)
        self._first_sent_at = self._last_received_at = 0.0

    def committing(self, ids: Iterable[UUID], now: float) -> None:
        """Called before COMMIT is sent: a record may arrive before COMMIT has returned to the writer."""
        with self._lock:
            self._first_sent_at = self._first_sent_at or now
            for event_id in ids:
                self._sent_at[event_id.bytes] = now
                self._committed_count += 1

    def rolled_back(self, row_count: int) -> None:
        """The ids are not noted: whatever arrives without having been committed is unexpected."""
        with self._lock:
            self._rolled_back_count += row_count

    def received(self, delivery: Delivery, now: float) -> None:
        with self._lock:
            self._last_received_at = now
            self._recent.append(delivery)
            self._settle(delivery.id.bytes if delivery.id else b"", now)

    def _settle(self, event_id: bytes, now: float) -> None:
        sent_at = self._sent_at.pop(event_id, None)
        if sent_at is not None:
            self._delivered.add(event_id)
            self._latencies.append(now - sent_at)
        elif event_id in self._delivered:
            self._duplicate_count += 1
        else:
            self._unexpected_count += 1

    @property
    def delivered_count(self) -> int:
        return len(self._delivered)

    @property
    def awaiting_count(self) -> int:
        return len(self._sent_at)

    def count(self) -> Count:
        with self._lock:
            latencies = self._latencies[-_RECENT_LATENCY_COUNT:]
            return Count(
                committed=self._committed_count,
                rolled_back=self._rolled_back_count,
                delivered=len(self._delivered),
                duplicates=self._duplicate_count,
                awaiting=len(self._sent_at),
                latency_p50_ms=_percentile_ms(latencies, 50),
                latency_p99_ms=_percentile_ms(latencies, 99),
                recent=tuple(self._recent),
            )

    def summary(self) -> Summary:
        with self._lock:
            return Summary(
                committed=self._committed_count,
                delivered=len(self._delivered),
                rolled_back=self._rolled_back_count,
                duplicates=self._duplicate_count,
                missing=len(self._sent_at),
                unexpected=self._unexpected_count,
                per_second=self._per_second(),
                latency_p50_ms=_percentile_ms(self._latencies, 50),
                latency_p99_ms=_percentile_ms(self._latencies, 99),
            )

    def _per_second(self) -> float:
        elapsed_seconds = self._last_received_at - self._first_sent_at
        return round(len(self._delivered) / elapsed_seconds, 1) if elapsed_seconds > 0 else 0.0


class RateHistory:
    """Deliveries per second, one figure per sample, oldest first."""

    def __init__(self, now: float, *, length: int = 60) -> None:
        self._sampled_at = now
        self._sampled_count = 0
        self._rates: deque[float] = deque(maxlen=length)

    @property
    def rates(self) -> tuple[float, ...]:
        return tuple(self._rates)

    def sample(self, delivered_count: int, now: float) -> None:
        elapsed_seconds = now - self._sampled_at
        if elapsed_seconds > 0:
            self._rates.append((delivered_count - self._sampled_count) / elapsed_seconds)
            self._sampled_at, self._sampled_count = now, delivered_count


def percentile(values: Sequence[float], percent: float) -> float | None:
    """Nearest rank: the smallest value that at least `percent` of all values do not exceed."""
    if not values:
        return None
    rank = math.ceil(len(values) * percent / 100)
    return sorted(values)[max(rank, 1) - 1]


def _percentile_ms(seconds: Sequence[float], percent: float) -> float | None:
    value = percentile(seconds, percent)
    return None if value is None else round(value * 1_000, 2)
