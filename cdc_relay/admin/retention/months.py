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
_BEFORE = re.compile(r"'(?:-infinity|\d{4,}-.* BC)'")
_BEYOND = re.compile(r"'(?:-?infinity|\d{5,}-.*|\d{4,}-.* BC)'")
_MOMENT = re.compile(r"'(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)(?:\+00)?'")


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
    is_foreign: bool = False  # its rows, or some of them, are on another server
    is_beyond: bool = False  # a bound is infinite, or no year from 1 to 9999

    @property
    def is_month(self) -> bool:
        """One that retention could have made."""
        if self.begin is None or self.end is None or self.is_foreign or self.is_beyond:
            return False
        month = Month.of(self.begin)
        return (self.begin, self.end) == (month.begin, month.end)

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
        notes=(*_crossings(partitions, wanted), *_odd_ones(partitions, old)),
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


def _odd_ones(partitions: Sequence[Partition], old: Sequence[Partition]) -> Iterator[str]:
    for each in partitions:
        if each.is_beyond:
            yield f"partition {each.name} is left alone: a bound of it is no time in the years 1 to 9999"
        elif each in old and not each.is_month:
            yield f"partition {each.name} is old, and not a plain month in UTC: it is left alone; drop it by hand"


def parse_bound(name: str, bound: str, *, is_foreign: bool = False) -> Partition:
    """`bound` as pg_get_expr prints it in a session with timezone UTC and datestyle ISO."""
    if bound == "DEFAULT":
        return Partition(name, is_default=True)
    match = _BOUND.fullmatch(bound)
    if match is None:
        raise ValueError(f"partition {name} has bounds that are no range of one column")
    begin, end = _moment(name, match[1]), _moment(name, match[2])
    is_beyond = any(_BEYOND.fullmatch(text) for text in match.groups())
    return Partition(
        name,
        None if begin == datetime.min else begin,
        None if end == datetime.max else end,
        is_foreign=is_foreign,
        is_beyond=is_beyond,
    )


def _moment(name: str, text: str) -> datetime:
    """What is before or after all times that we know is the first or the last of them."""
    if text == "MINVALUE" or _BEFORE.fullmatch(text):
        return datetime.min
    if text == "MAXVALUE" or _BEYOND.fullmatch(text):
        return datetime.max
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(f"partition {name} has bounds that are no times")
    return datetime.fromisoformat(match[1])


def leaf_name(table: str, month: Month) -> str:
    """`<table>_YYYY_MM`, as long as Postgres allows."""
    suffix = f"_{month}"
    return table.encode()[: _LONGEST_BYTES - len(suffix)].decode("utf-8", "ignore") + suffix
