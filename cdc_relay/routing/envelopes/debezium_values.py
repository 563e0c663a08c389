"""A column's value as Debezium's connector and Kafka Connect's JsonConverter show it, for fields that a user places.

Where Debezium loses or hides something (numeric as base64, interval as microseconds) we show what values.py shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from cdc_relay.protocol.messages import Column
from cdc_relay.routing.json_text import plain, quote
from cdc_relay.routing.schedule import parse_due
from cdc_relay.routing.values import RENDERERS, Render, renderer

__all__ = ["as_header", "as_member"]

_DAY_US = 86_400_000_000
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?")
_ZONED = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}) ([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,6}))?\+00")
_ZONED_TIME = re.compile(
    r"([01][0-9]|2[0-3]):([0-9]{2}):([0-9]{2})(\.[0-9]{1,6})?([-+][0-9]{2})(:[0-9]{2})?(:[0-9]{2})?"
)
_AS_PRINTED = frozenset({18, 19, 20, 21, 23, 25, 26, 114, 700, 701, 1042, 1043, 1186, 1700, 2950, 3802})


def as_member(column: Column) -> Callable[[bytes | None], str]:
    """JSON text. ValueError: it cannot be said."""
    render = renderer(column.type_oid, _table(column.type_modifier))
    return lambda value: "null" if value is None else render(value.decode())


def as_header(column: Column) -> Callable[[bytes | None], bytes | None]:
    """As SimpleHeaderConverter writes it: a string's content, anything else as JSON."""
    if column.type_oid in _AS_PRINTED:
        return lambda value: value
    render = renderer(column.type_oid, _table(column.type_modifier))
    return lambda value: None if value is None else plain(render(value.decode()))


def _table(type_modifier: int) -> Mapping[int, Render]:
    """The modifier of a time type is its number of digits: up to 3 Debezium counts milliseconds."""
    digits = 6 if type_modifier < 0 else type_modifier
    unit_us = 1000 if digits <= 3 else 1
    return {
        **RENDERERS,
        114: quote,  # json and jsonb are strings to Debezium
        3802: quote,
        1082: _render_date,
        1083: lambda printed: _render_time(printed, unit_us),
        1114: lambda printed: _render_timestamp(printed, unit_us),
        1184: lambda printed: _render_zoned(printed, digits),
        1266: _render_zoned_time,
    }


def _render_date(printed: str) -> str:
    """Days since 1970."""
    day, era, _ = printed.partition(" BC")
    due = parse_due(f"{day} 00:00:00{era}".encode())
    return quote(printed) if due is None else str(due.at_us // _DAY_US)


def _render_time(printed: str, unit_us: int) -> str:
    match = _TIME.fullmatch(printed)
    if match is None:
        return quote(printed)
    seconds = (int(match[1]) * 60 + int(match[2])) * 60 + int(match[3])
    return str((seconds * 1_000_000 + int((match[4] or "").ljust(6, "0"))) // unit_us)


def _render_timestamp(printed: str, unit_us: int) -> str:
    """Since 1970, as if it were UTC. Debezium's numbers for the infinities are far dates: ours are words."""
    due = parse_due(printed.encode())
    return quote(printed) if due is None else str(due.at_us // unit_us)


def _render_zoned(printed: str, digits: int) -> str:
    """ISO 8601 with all the digits that the column has, where Postgres leaves out zeros at the end."""
    match = _ZONED.fullmatch(printed)
    if match is None:
        return quote(printed)
    fraction = f".{(match[3] or '').ljust(digits, '0')}" if digits else ""
    return f'"{match[1]}T{match[2]}{fraction}Z"'


def _render_zoned_time(printed: str) -> str:
    """The same time in UTC; the day is lost, as it is in Debezium."""
    match = _ZONED_TIME.fullmatch(printed)
    if match is None:
        return quote(printed)
    hours, minutes, seconds = (int(part) for part in match.groups()[:3])
    sign = -1 if match[5][0] == "-" else 1
    offset = (int(match[5][1:]) * 60 + int((match[6] or ":0")[1:])) * 60 + int((match[7] or ":0")[1:])
    at = ((hours * 60 + minutes) * 60 + seconds - sign * offset) % 86_400
    return f'"{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}{match[4] or ""}Z"'
