"""What a route's `when` asks of a value: exactly this, one of these, like this pattern, NULL, or not any of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Condition", "Exact", "Glob", "IsNull", "Not", "OneOf", "covers", "holds"]


@dataclass(frozen=True, slots=True)
class Exact:
    value: bytes


@dataclass(frozen=True, slots=True)
class IsNull:
    pass


@dataclass(frozen=True, slots=True)
class Glob:
    """`*` is any text, `?` any one character; NULL is no text."""

    pattern: str


@dataclass(frozen=True, slots=True)
class OneOf:
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The plain opposite: NULL is not `internal`."""

    condition: Condition


Condition = Exact | IsNull | Glob | OneOf | Not


def holds(condition: Condition, value: bytes | None) -> bool:
    match condition:
        case Exact(wanted):
            return value == wanted
        case IsNull():
            return value is None
        case Glob(pattern):
            return value is not None and _compile(pattern).fullmatch(_text(value)) is not None
        case OneOf(conditions):
            return any(holds(each, value) for each in conditions)
        case Not(denied):
            return not holds(denied, value)


def covers(wide: Condition, narrow: Condition) -> bool:
    """Whether `wide` surely holds wherever `narrow` does. False where it cannot be told."""
    if wide == narrow:
        return True
    match wide, narrow:
        case _, Exact(value):
            return holds(wide, value)
        case _, IsNull():
            return holds(wide, None)
        case _, OneOf(conditions):
            return all(covers(wide, each) for each in conditions)
        case OneOf(conditions), _:
            return any(covers(each, narrow) for each in conditions)
        case Not(denied), Not(also_denied):
            return covers(also_denied, denied)
        case Glob(pattern), Glob():
            return set(pattern) == {"*"}
        case _:
            return False


@lru_cache(maxsize=1024)
def _compile(pattern: str) -> re.Pattern[str]:
    """A text behind a star is taken where it comes first, for good: that is right, and many stars cost no more."""
    first, *others = (_escape(piece) for piece in re.split(r"\*+", pattern))
    if not others:
        return re.compile(first, re.DOTALL)
    *middle, last = others
    return re.compile(f"{first}{''.join(f'(?>.*?{piece})' for piece in middle)}.*{last}", re.DOTALL)


def _escape(piece: str) -> str:
    return ".".join(re.escape(part) for part in piece.split("?"))


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")
