"""Named blocks of a .sql file: a line "-- :name", lines that say what it is for, then the statement. Runs nothing."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

__all__ = ["read_blocks"]

_BLOCK = re.compile(r"^-- :(\w+)\n((?:--.*\n)*)", re.MULTILINE)
_PART = re.compile(r"\{(\w+)\}")


@cache
def read_blocks(package: str, file: str) -> dict[str, str]:
    """By name, with the blocks that each mentions in {braces} put in."""
    text = files(package).joinpath(file).read_text(encoding="utf-8")
    _, *parts = _BLOCK.split(text)
    plain = {name: body.strip() for name, body in zip(parts[::3], parts[2::3], strict=True)}
    return {name: _expand(body, plain) for name, body in plain.items()}


def _expand(body: str, blocks: dict[str, str]) -> str:
    return _PART.sub(lambda part: _expand(blocks[part[1]], blocks) if part[1] in blocks else part[0], body)
