"""What a table of medians shows: one value of the measurements, its title, and how it is printed. Finds no values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["COSTS", "FIRST_RECORD", "RATE", "RSS_PEAK", "Column", "head", "row"]


@dataclass(frozen=True)
class Column:
    title: str
    value: str
    spec: str

    def cell(self, figure: float | None) -> str:
        return "" if figure is None else format(figure, self.spec)


RATE = Column("events/s", "events_per_s", ",.0f")
FIRST_RECORD = Column("first record s", "first_record_s", ".2f")
RSS_PEAK = Column("peak RSS MB", "rss_peak_mb", ".0f")
COSTS = (
    Column("connector µs", "connector_us", ".1f"),
    Column("Postgres µs", "postgres_us", ".1f"),
    Column("broker µs", "broker_us", ".1f"),
    Column("sum µs", "all_us", ".1f"),
    RSS_PEAK,
)


def head(titles: Sequence[str]) -> Iterator[str]:
    yield row(titles)
    yield row(["---"] * len(titles))


def row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
