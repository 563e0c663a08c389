"""JSON laid out anew without being read as values: every number and string stays as it was written. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from cdc_relay.routing.json_depth import is_too_deep

__all__ = ["explain_json", "flatten", "is_json", "pretty"]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def is_json(text: str) -> bool:
    return explain_json(text) is None


def explain_json(text: str) -> str | None:
    """Why this is no JSON, without quoting any of it; None where it is."""
    if is_too_deep(text):
        return "it is nested too deeply"
    try:
        json.loads(text, parse_int=str, parse_float=str, parse_constant=_refuse)
    except json.JSONDecodeError as exc:
        return f"line {exc.lineno}, column {exc.colno}: {exc.msg}"
    except ValueError as exc:
        return str(exc)
    return None


def flatten(text: str) -> str:
    """On one line, spaced as Postgres prints jsonb."""
    spaced = {",": ", ", ":": ": "}
    return "".join(spaced.get(token, token) for token in _TOKEN.findall(text))


def pretty(text: str) -> str:
    """Of valid JSON: two blanks per level."""
    return "".join(_lay_out(_TOKEN.findall(text)))


def _lay_out(tokens: list[str]) -> Iterator[str]:
    depth, before = 0, ""
    for token in tokens:
        if token in "}]":
            depth -= 1
            yield token if before in ("{", "[") else _line(depth) + token
        else:
            yield _line(depth) + token if before in ("{", "[") else token
        if token in "{[":
            depth += 1
        yield {",": _line(depth), ":": " "}.get(token, "")
        before = token


def _line(depth: int) -> str:
    return "\n" + "  " * depth


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
