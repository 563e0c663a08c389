"""Values as JSON that jsonb takes and every consumer reads, or an EventError that names the place, never the value.

Text that the caller has serialised is checked and passed on as it is, with every digit.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import NoReturn, TypeAlias
from uuid import UUID

from .errors import EventError
from .jsonb import check_numbers

__all__ = ["JsonInput", "check_text", "dump", "to_json"]

# What to_json() takes; inside of containers it is looked at when it runs.
JsonInput: TypeAlias = Mapping[str, object] | Sequence[object] | str | bytes | float | Decimal | UUID | date | time

_LONGEST_BITS = 3322  # 1,000 digits; Python prints up to 4,300
_SHOWABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")  # a longer or stranger member's name may be data


def to_json(value: object, where: str) -> str:
    """str and bytes are JSON already; all else is serialised."""
    return _check_serialised(value, where) if isinstance(value, str | bytes) else dump(value, where)


def dump(value: object, where: str) -> str:
    """A str is a JSON string here. Blanks are where jsonb prints them."""
    try:
        return json.dumps(_plain(value, where), ensure_ascii=False, allow_nan=False)
    except RecursionError:
        raise _too_deep(where) from None


def check_text(text: str, where: str) -> str:
    """What neither text nor jsonb of Postgres can hold."""
    if "\0" in text:
        raise EventError(f"{where} has a NUL character, which Postgres cannot store; take it out")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise EventError(f"{where} has half of a surrogate pair, which is no character") from None
    return text


def _check_serialised(given: str | bytes, where: str) -> str:
    try:
        text = given if isinstance(given, str) else given.decode()
        # Digits are left alone: what Python would make of them is not sent.
        value = json.loads(text, parse_int=_zero, parse_float=_zero, parse_constant=_refuse_constant)
    except ValueError:  # JSONDecodeError and UnicodeDecodeError are two
        raise EventError(
            f"{where} is no JSON; str and bytes are taken as JSON text (a string is given as json.dumps(text))"
        ) from None
    except RecursionError:
        raise _too_deep(where) from None
    dump(value, where)
    check_numbers(text, where)
    return text


def _too_deep(where: str) -> EventError:
    return EventError(f"{where} is nested too deep, or contains itself")


def _zero(_digits: str) -> int:
    return 0


def _refuse_constant(_name: str) -> NoReturn:
    raise ValueError("NaN and Infinity are no JSON")


def _plain(value: object, where: str) -> object:
    """The value in types that json.dumps writes without a choice of its own."""
    match value:
        case str():
            return check_text(value, where)
        case None | bool() | int():
            return _check_digits(value, where)
        case float() | Decimal():
            return _number(value, where)
        case Mapping():
            return {_name(name, where): _plain(item, _inside(where, name)) for name, item in value.items()}
        case list() | tuple():
            return [_plain(item, f"{where}[{place}]") for place, item in enumerate(value)]
    return _text_of(value, where)


def _number(value: float | Decimal, where: str) -> float | str:
    """A Decimal is a string: as a number most consumers would make a float of it."""
    is_finite = math.isfinite(value) if isinstance(value, float) else value.is_finite()
    if not is_finite:
        raise EventError(f"{where} is NaN or infinite, which JSON cannot say; send null or a string")
    return value if isinstance(value, float) else str(value)


def _check_digits(value: int | None, where: str) -> int | None:
    if value is not None and value.bit_length() > _LONGEST_BITS:
        raise EventError(f"{where} has more than 1,000 digits; send it as a string")
    return value


def _text_of(value: object, where: str) -> str:
    match value:
        case UUID():
            return str(value)
        case datetime() | time() if value.utcoffset() is None:  # also a time of day in a ZoneInfo: it needs the date
            raise EventError(
                f"{where} is a {type(value).__name__} without an offset from UTC; give it a zone (a time of day a"
                " fixed one, as datetime.UTC), or send isoformat()"
            )
        case date() | time():
            return value.isoformat()
    raise EventError(
        f"{where} is a {type(value).__name__}, for which JSON has no form; convert it to text, numbers, lists and dicts"
    )


def _name(name: object, where: str) -> str:
    if not isinstance(name, str):
        raise EventError(f"{where} has a key that is no str but {type(name).__name__}; JSON has no other names")
    return check_text(name, f"a key in {where}")


def _inside(where: str, name: object) -> str:
    return f"{where}.{name}" if isinstance(name, str) and _SHOWABLE.fullmatch(name) else f"{where}.…"
