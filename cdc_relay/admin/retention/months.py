"""Months as ranges of a partitioned table, in UTC: which to make, which are over, and what is in the way. Pure.

A partition is known by its bounds; its name is only what a new one is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

__all__ = ["Month", "MonthPlan", "Partition", "leaf_name", "months_ahead", "parse_bound", "plan_months"]

_AHEAD = 2  # months beyond this one
_LONGEST_BYTES = 63
_BOUND = re.compile(r"FOR VALUES FROM \((.+)\) TO \((.+)\)")
_MOMENT = re.compile(r"'(\d{4,}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)(?:\+00)?'")


@dataclass(frozen=True, slots=True, order=True)
class Month:
    year: int
    number: int

    @classmethod
    def of(cls, moment: datetime) -> Month:
        return cls(moment.year, moment.month)

    @property
    def next(self) -> Month:
        return Month(self.year + self.number // 12, self.number % 12 + 1)

    @property
    def begin(self) -> datetime:
        """Without a zone: everything here is UTC."""
        return datetime(self.year, self.number, 1)

    @property
    def end(self) -> datetime:
        return self.next.begin

    def __str__(self) -> str:
        return f"{self.year:04}_{self.number:02}"


@dataclass(frozen=True, slots=True)
class Partition:
    """As the catalog has it. No bounds: the DEFAULT partition, or bounds that are no times."""

    name: str  # as SQL writes it, with its schema
    begin: datetime | None = None  # None: from ever
    end: datetime | None = None  # None: for ever
    is_default: bool = False
    is_foreign: bool = False  # its rows are on another server

    @property
    def is_month(self) -> bool:
        """One that retention could have made."""
        month = None if self.begin is None or self.is_foreign else Month.of(self.begin)
        return month is not None and (self.begin, self.end) == (month.begin, month.end)

    def overlaps(self, month: Month) -> bool:
        starts_before = self.begin is None or self.begin < month.end
        return starts_before and (self.end is None or self.end > month.begin) and not self.is_default

    def covers(self, month: Month) -> bool:
        begins_before = (self.begin or month.begin) <= month.begin
        return self.overlaps(month) and begins_before and (self.end or month.end) >= month.end


@dataclass(frozen=True, slots=True)
class MonthPlan:
    make: tuple[Month, ...]
    drop: tuple[Partition, ...]  # the oldest first
    notes: tuple[str, ...]  # what is left alone, and why


def plan_months(partitions: Sequence[Partition], *, now: datetime, cutoff: datetime | None) -> MonthPlan:
    """`cutoff`: what is wholly before it goes; None: nothing goes. Both in UTC, without a zone."""
    wanted = months_ahead(now)
    free = [month for month in wanted if not any(each.overlaps(month) for each in partitions)]
    old = [each for each in partitions if cutoff is not None and each.end is not None and each.end <= cutoff]
    return MonthPlan(
        make=tuple(free),
        drop=tuple(sorted((each for each in old if each.is_month), key=lambda each: each.begin or now)),
        notes=(*_crossings(partitions, wanted), *(_odd(each) for each in old if not each.is_month)),
    )


def months_ahead(now: datetime) -> list[Month]:
    """This one and the next two: a pass that fails for a month is noticed long before rows have no place."""
    months = [Month.of(now)]
    for _ in range(_AHEAD):
        months.append(months[-1].next)
    return months


def _crossings(partitions: Sequence[Partition], wanted: Sequence[Month]) -> Iterator[str]:
    for month in wanted:
        for each in partitions:
            if each.overlaps(month) and not each.covers(month):
                yield f"month {month} is not made: partition {each.name} has a part of it; make the rest by hand"
                break


def _odd(partition: Partition) -> str:
    return f"partition {partition.name} is old, and not a plain month in UTC: it is left alone; drop it by hand"


def parse_bound(name: str, bound: str, *, is_foreign: bool = False) -> Partition:
    """`bound` as pg_get_expr prints it in a session with timezone UTC and datestyle ISO."""
    if bound == "DEFAULT":
        return Partition(name, is_default=True)
    match = _BOUND.fullmatch(bound)
    if match is None:
        raise ValueError(f"partition {name} has bounds that are no range of one column")
    begin, end = _moment(name, match[1], "MINVALUE"), _moment(name, match[2], "MAXVALUE")
    return Partition(name, begin, end, is_foreign=is_foreign)


def _moment(name: str, text: str, open_end: str) -> datetime | None:
    if text == open_end:
        return None
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(f"partition {name} has bounds that are no times")
    return datetime.fromisoformat(match[1])


def leaf_name(table: str, month: Month) -> str:
    """`<table>_YYYY_MM`, as long as Postgres allows."""
    suffix = f"_{month}"
    return table.encode()[: _LONGEST_BYTES - len(suffix)].decode("utf-8", "ignore") + suffix
