"""The named blocks of queries.sql, and statements of many rows made from them. Runs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from cdc_relay.sources.sql_blocks import read_blocks

__all__ = ["find", "padded", "with_rows"]


def find(name: str) -> str:
    """The statement of this name, with the blocks that it mentions put in."""
    return read_blocks("cdc_relay.parking", "queries.sql")[name]


def padded(row_count: int) -> int:
    """How many rows a statement has that takes so many: a few sizes, which Postgres keeps prepared. To parse and plan
    a row cost it as much as to write it (75 us together, 39 without). Rows of NULLs are none."""
    return 1 << (row_count - 1).bit_length()


@lru_cache(maxsize=32)
def with_rows(name: str, row_count: int, fields: tuple[str, ...]) -> str:
    """The statement with so many rows of its block `<name>_row`; $1 is the statement's own, the fields follow."""
    row = find(f"{name}_row")
    starts = (2 + number * len(fields) for number in range(row_count))
    return find(name).format(rows=",\n".join(row.format_map(_numbers(fields, start)) for start in starts))


def _numbers(fields: Sequence[str], start: int) -> Mapping[str, str]:
    return {field: f"${number}" for number, field in enumerate(fields, start)}
