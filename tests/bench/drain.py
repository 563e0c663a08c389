"""What one drain came to."""

from __future__ import annotations

from dataclasses import dataclass

from tests.bench.costs import Costs

__all__ = ["Drain", "make_drain"]


@dataclass(frozen=True)
class Drain:
    """One peer, one round. CPU in microseconds per event; Postgres includes the walsender."""

    peer: str
    events_per_s: float
    connector_us: float
    walsender_us: float
    postgres_us: float
    broker_us: float
    rss_peak_mb: float
    duplicates: int = 0
    rows: int = 0

    @property
    def all_us(self) -> float:
        return self.connector_us + self.postgres_us + self.broker_us

    def values(self) -> dict[str, float]:
        return {
            "events_per_s": self.events_per_s,
            "connector_us": self.connector_us,
            "walsender_us": self.walsender_us,
            "postgres_us": self.postgres_us,
            "broker_us": self.broker_us,
            "all_us": self.all_us,
            "rss_peak_mb": self.rss_peak_mb,
            "duplicates": self.duplicates,
            "rows": self.rows,
        }

    def __str__(self) -> str:
        cpu = f"{self.connector_us:5.1f} + {self.postgres_us:4.1f} + {self.broker_us:4.1f} us"
        again = f", {self.duplicates} duplicates" if self.duplicates else ""
        return f"{self.peer:18}{self.events_per_s:>9,.0f}/s  {cpu}  {self.rss_peak_mb:5.0f} MB{again}"


def make_drain(
    peer: str, count: int, seconds: float, costs: Costs, *, rss_peak_mb: float = 0.0, duplicates: int = 0
) -> Drain:
    each = 1e6 / count
    cpu = (costs.connector * each, costs.walsender * each, costs.postgres * each, costs.broker * each)
    return Drain(peer, count / seconds, *cpu, rss_peak_mb, duplicates, count)
