"""Parked records as JSON: one line each for export and import, losing nothing. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import cast

from cdc_relay.parking.desk_bytes import bytes_of, decode, encode
from cdc_relay.parking.desk_row import Listed, Named, ParkedRow
from cdc_relay.routing.json_depth import is_too_deep

__all__ = ["check_named", "from_line", "row_json", "to_line"]

_OF_THE_MOMENT = ("is_being_published", "read_at")
_OPTIONAL = ("run", "run_row")  # lines of an older version lack them
_KINDS: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "int | None": (int, type(None)),
    "bool": (bool,),
    "str": (str,),
    "str | None": (str, type(None)),
}
_STORED = {field.name: str(field.type) for field in fields(ParkedRow) if field.name not in _OF_THE_MOMENT}


def row_json(row: Listed) -> dict[str, object]:
    """Key and value as text, null or {"base64": …}; headers and columns as the table has them."""
    shown = {field.name: getattr(row, field.name) for field in fields(row) if field.name not in _OF_THE_MOMENT}
    return {name: encode(value) if isinstance(value, bytes) else value for name, value in shown.items()}


def to_line(row: ParkedRow) -> str:
    return json.dumps(row_json(row))


def from_line(line: str) -> dict[str, object]:
    """The values of a row. ValueError says what is wrong with it, and quotes nothing."""
    if is_too_deep(line):
        raise ValueError("it is nested too deeply")
    try:
        read = json.loads(line)
    except json.JSONDecodeError as exc:
        raise ValueError(f"this is no JSON: column {exc.colno}: {exc.msg}") from None
    if not isinstance(read, dict):
        raise ValueError("expected a JSON object")
    if missing := [name for name in _STORED if name not in read and name not in _OPTIONAL]:
        raise ValueError(f"it lacks {', '.join(missing)}: is it a line of dlq export?")
    return {name: _checked(name, kind, read.get(name)) for name, kind in _STORED.items()}


def _checked(name: str, kind: str, value: object) -> object:
    try:
        return _check(name, kind, value)
    except ValueError as exc:
        problem = "it is not UTF-8" if isinstance(exc, UnicodeError) else exc
        raise ValueError(f"{name}: {problem}") from None


def _check(name: str, kind: str, value: object) -> object:
    if kind == "bytes | None":
        return decode(value)
    if name in ("headers", "columns", "edits"):
        return _check_list(name, value)
    if type(value) not in _KINDS[kind]:  # exactly: to Python a bool is an int
        raise ValueError(f"expected {kind.replace('None', 'null')}")
    if isinstance(value, str) and "\0" in value.encode().decode():
        raise ValueError("Postgres cannot hold NUL in text")
    return value


def _check_list(name: str, value: object) -> object:
    if value is None and name == "columns":
        return None
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise ValueError("expected a list of objects")
    if name != "edits":
        for part in value:
            check_named(part, with_type=name == "columns")
    return value


def check_named(part: Mapping[str, object], *, with_type: bool) -> Named:
    """A header or column: a name, a value (text or null) or base64; a column has a type, perhaps a modifier."""
    numbers = {key: part[key] for key in ("type", "modifier") if with_type and key in part}
    given = "base64" if "base64" in part else "value"
    if part.keys() - numbers.keys() != {"name", given} or ("type" in numbers) != with_type:
        raise ValueError(f"each needs name, value or base64{', and type' if with_type else ''}, and nothing else")
    name, shown = part["name"], part[given]
    if not isinstance(name, str) or not isinstance(shown, str | None) or not all(map(_is_int, numbers.values())):
        raise ValueError("name and value must be text (a value may be null), type a number")
    if given == "base64" and shown is None:
        raise ValueError("base64 must be text")
    named: Named = {"name": name, **cast("Named", numbers), given: shown}
    name.encode()  # a lone surrogate is a ValueError in either
    bytes_of(named)
    return named


def _is_int(value: object) -> bool:
    return type(value) is int  # a bool is none here
