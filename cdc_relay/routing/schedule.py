"""Points in time as Postgres prints them in ISO style and UTC, and as ISO 8601 has them in JSON. Reads no clock."""

from __future__ import annotations

import re
from datetime import date, time
from typing import NamedTuple

__all__ = ["Due", "parse_due"]

_PRINTED = re.compile(
    rb"(\d{4,6})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6})(?P<finer>\d*))?"
    rb"(?P<zone>Z|(?P<sign>[+-])(?P<hours>\d\d)(?::?(?P<minutes>\d\d))?)?(?P<era> BC)?",
)
_LAST_YEAR, _FIRST_YEAR_BC = 294_276, 4_714  # a timestamptz goes no further, and the lot keeps it as one
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097  # the calendar repeats: datetime.date ends at year 9999
_EPOCH_DAYS = date(1970, 1, 1).toordinal()
_FIRST_US, _END_US = -210_866_803_200_000_000, 9_224_318_016_000_000_000  # of a timestamptz, since 1970
_WIDEST_HOURS = 15  # of a zone: Postgres refuses a wider one


class Due(NamedTuple):
    at_us: int
    text: str  # with its zone: the lot's session may live in another


def parse_due(printed: bytes) -> Due | None:
    """None for what is no finite point in time: infinity, or words in a text column."""
    match = _PRINTED.fullmatch(printed)
    if match is None:
        return None
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    try:
        days = _days(year, month, day, is_bc=match["era"] is not None)
        time(hour, minute, second)
    except ValueError:
        return None
    micros = int((match[7] or b"").ljust(6, b"0"))
    minutes = (days * 24 + hour) * 60 + minute - _offset_minutes(match)
    at_us = (minutes * 60 + second) * 1_000_000 + micros
    if not _is_zone(match) or not _FIRST_US <= at_us < _END_US - bool(match["finer"]):  # Postgres may round it up
        return None
    return Due(at_us, _with_zone(printed.decode("ascii"), has_zone=match["zone"] is not None))


def _is_zone(match: re.Match[bytes]) -> bool:
    return int(match["hours"] or 0) <= _WIDEST_HOURS and int(match["minutes"] or 0) < 60


def _offset_minutes(match: re.Match[bytes]) -> int:
    """East of UTC. Without a zone it is UTC."""
    if match["sign"] is None:
        return 0
    minutes = int(match["hours"]) * 60 + int(match["minutes"] or 0)
    return minutes if match["sign"] == b"+" else -minutes


def _days(year: int, month: int, day: int, *, is_bc: bool) -> int:
    """Since 1970. There is no year 0: 1 BC comes before 1."""
    if not 0 < year <= (_FIRST_YEAR_BC if is_bc else _LAST_YEAR):
        raise ValueError("out of the range of Postgres")
    year = 1 - year if is_bc else year
    cycles, year_of_cycle = divmod(year, _CYCLE_YEARS)
    days = date(_CYCLE_YEARS + year_of_cycle, month, day).toordinal() + (cycles - 1) * _CYCLE_DAYS
    return days - _EPOCH_DAYS


def _with_zone(text: str, *, has_zone: bool) -> str:
    if has_zone:
        return text
    moment, era, _ = text.partition(" BC")
    return f"{moment}+00{era}"
