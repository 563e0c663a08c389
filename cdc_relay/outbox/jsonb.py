"""What jsonb makes of JSON: which numbers it refuses, and how many bytes it prints at most. Reads checked JSON only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .errors import EventError

__all__ = ["check_numbers", "count_printed_bytes"]

_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
# Only those with an exponent, or too long for a fraction: a look at each of 470,000 numbers takes seconds.
_NUMBER = re.compile(r"(?<![0-9.])(?=[0-9.]*+[eE]|[0-9.]{16384})([0-9]++)(?:\.([0-9]++))?+(?:[eE]([+-]?[0-9]++))?+")
_MOST_BEFORE, _MOST_AFTER = 131_072, 16_383  # digits of numeric, before the point and after it
_LONGEST_EXPONENT = 9  # digits; Postgres takes some of ten, and then only for a zero


class _Number(NamedTuple):
    """As numeric prints it, without an exponent."""

    given_digits: int
    before: int
    after: int

    @property
    def growth(self) -> int:
        return max(0, self.before + self.after + bool(self.after) - self.given_digits)

    @property
    def is_taken(self) -> bool:
        return self.before <= _MOST_BEFORE and self.after <= _MOST_AFTER


def check_numbers(text: str, where: str) -> None:
    if not all(number.is_taken for number in _numbers(_without_strings(text))):
        raise EventError(
            f"{where} has a number of more than {_MOST_BEFORE:,} digits before the point or {_MOST_AFTER:,} after it,"
            " which jsonb refuses; send it as a string"
        )


def count_printed_bytes(text: str) -> int:
    """The text, a blank after each comma and colon that has none, and exponents written out.

    Strings are printed no longer than they are given. Other blanks and repeated members, which jsonb drops, are
    counted: a column of type json or text keeps them.
    """
    bare = _without_strings(text)
    blanks = sum(bare.count(mark) - bare.count(f"{mark} ") for mark in ",:")
    return len(text.encode()) + blanks + sum(number.growth for number in _numbers(bare))


def _without_strings(text: str) -> str:
    return _STRING.sub('""', text)


def _numbers(bare: str) -> Iterator[_Number]:
    for match in _NUMBER.finditer(bare):
        whole, fraction, exponent = match[1], match[2] or "", match[3] or "0"
        yield _measure(len(match[0]), whole, fraction, exponent)


def _measure(given_digits: int, whole: str, fraction: str, exponent: str) -> _Number:
    if len(exponent.lstrip("+-0")) > _LONGEST_EXPONENT:
        return _Number(given_digits, _MOST_BEFORE + 1, 0)
    shift, digits = int(exponent), (whole + fraction).lstrip("0")
    before = len(digits) - len(fraction) + shift if digits else 0
    return _Number(given_digits, max(before, 1), max(len(fraction) - shift, 0))
