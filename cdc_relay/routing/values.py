"""A column's value, as Postgres prints it, as JSON text that means the same. By type oid, chosen once per column.

The session pins how Postgres prints (ISO dates, UTC, hexadecimal bytea). An oid that is not in the table is a JSON
string as printed: interval, uuid, enum, composite, text. Domains were resolved before: see domains.py.
What a type should never print (a row that was edited by hand) becomes a string rather than broken JSON.
"""

from __future__ import annotations

import re
from binascii import b2a_base64, unhexlify
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from cdc_relay.routing.arrays import ELEMENT_OIDS, array_renderer
from cdc_relay.routing.json_text import quote

__all__ = [
    "BYTEA_OID",
    "FIRST_USER_OID",
    "JSON_OID",
    "JSON_OIDS",
    "RENDERERS",
    "TEXT_OID",
    "TEXT_OIDS",
    "Render",
    "compile_value",
    "iso_utc",
    "read_bytea",
    "render_bytea",
    "renderer",
]

Render = Callable[[str], str]  # ValueError: such a value cannot be said in JSON

BYTEA_OID = 17
JSON_OID, JSONB_OID = 114, 3802
JSON_OIDS = frozenset({JSON_OID, JSONB_OID})
TEXT_OID = 25
TEXT_OIDS = frozenset({19, 25, 1042, 1043})  # name, text, char(n), varchar
FIRST_USER_OID = 16384  # Postgres gives user-defined types this oid and later ones

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}) ([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?)(\+00)?")
_EPOCH = datetime(1970, 1, 1)


def compile_value(type_oid: int) -> Callable[[bytes | None], str]:
    """NULL is null; the empty string stays one. ValueError: not UTF-8, or a bytea without hexadecimal digits."""
    render = renderer(type_oid)

    def render_value(value: bytes | None) -> str:
        return "null" if value is None else render(value.decode())

    return render_value


def renderer(type_oid: int, renderers: Mapping[int, Render] | None = None) -> Render:
    """`renderers`: another table than RENDERERS. An array of what the table has is a JSON array."""
    known = RENDERERS if renderers is None else renderers
    element_oid = ELEMENT_OIDS.get(type_oid)
    if element_oid is not None:
        return array_renderer(known.get(element_oid, quote))
    return known.get(type_oid, quote)


def read_bytea(printed: bytes | str) -> bytes:
    """bytea_output=hex is pinned for the session, so the value is `\\x` and hexadecimal digits; else a ValueError."""
    return unhexlify(printed[2:])


def render_bytea(printed: str) -> str:
    return f'"{b2a_base64(read_bytea(printed), newline=False).decode()}"'


def iso_utc(at_us: int) -> str:
    """Microseconds since 1970 as `2026-01-02T03:04:05.123456Z`; the calendar of datetime has an end."""
    try:
        return f"{(_EPOCH + timedelta(microseconds=at_us)).isoformat(timespec='microseconds')}Z"
    except OverflowError:
        return f"{at_us} us"


def _render_bool(printed: str) -> str:
    return {"t": "true", "f": "false"}.get(printed) or quote(printed)


def _render_number(printed: str) -> str:
    """Digit for digit, also beyond 2^53. NaN and the infinities are no JSON numbers: strings."""
    return printed if _NUMBER.fullmatch(printed) else quote(printed)


def _render_json(printed: str) -> str:
    """Not looked at: Postgres has checked it."""
    return printed


def _render_moment(printed: str) -> str:
    """ISO 8601, `Z` for a timestamptz. Before Christ, beyond 9999 and the infinities stay as they are printed."""
    match = _MOMENT.fullmatch(printed)
    return quote(printed) if match is None else f'"{match[1]}T{match[2]}{"Z" if match[3] else ""}"'


RENDERERS: Mapping[int, Render] = {
    16: _render_bool,
    17: render_bytea,
    20: _render_number,  # int8
    21: _render_number,  # int2
    23: _render_number,  # int4
    26: _render_number,  # oid
    114: _render_json,
    700: _render_number,  # float4
    701: _render_number,  # float8
    1114: _render_moment,  # timestamp
    1184: _render_moment,  # timestamptz
    1700: _render_number,  # numeric
    3802: _render_json,  # jsonb
}  # date, time and timetz are ISO 8601 as printed
