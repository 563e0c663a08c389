"""The named blocks of queries.sql, and statements of many rows made from them. Runs nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files

__all__ = ["find", "with_rows"]

_BLOCK = re.compile(r"^-- :(\w+)\n((?:--.*\n)*)", re.MULTILINE)
_PART = re.compile(r"\{(\w+)\}")


def find(name: str) -> str:
    """The statement of this name, with the blocks that it mentions put in."""
    return _blocks()[name]


@lru_cache(maxsize=16)
def with_rows(name: str, row_count: int, fields: tuple[str, ...]) -> str:
    """The statement with so many rows of its block `<name>_row`; $1 is the statement's own, the fields follow."""
    row = find(f"{name}_row")
    starts = (2 + number * len(fields) for number in range(row_count))
    return find(name).format(rows=",\n".join(row.format_map(_numbers(fields, start)) for start in starts))


def _numbers(fields: Sequence[str], start: int) -> Mapping[str, str]:
    return {field: f"${number}" for number, field in enumerate(fields, start)}


@cache
def _blocks() -> dict[str, str]:
    text = files("cdc_relay.parking").joinpath("queries.sql").read_text(encoding="utf-8")
    _, *parts = _BLOCK.split(text)
    plain = {name: body.strip() for name, body in zip(parts[::3], parts[2::3], strict=True)}
    return {name: _PART.sub(lambda part: plain.get(part[1], part[0]), body) for name, body in plain.items()}
