"""The lot's SQL as text: every block is found whole, and statements of many rows number their parameters."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from cdc_relay.parking.queries import find, padded, with_rows
from cdc_relay.parking.rows import ENTRY_FIELDS, MARK_FIELDS, chunks

NAMES = re.findall(r"^-- :(\w+)$", files("cdc_relay.parking").joinpath("queries.sql").read_text(), re.MULTILINE)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("park", "mark", "park_row", "mark_row")])
def test_every_block_is_complete(name: str) -> None:
    assert "{" not in find(name)
    assert "--" not in find(name)


@pytest.mark.parametrize(("name", "fields"), [("park", ENTRY_FIELDS), ("mark", MARK_FIELDS)])
def test_each_row_has_parameters_of_its_own(name: str, fields: tuple[str, ...]) -> None:
    used = {int(number) for number in re.findall(r"\$(\d+)", with_rows(name, 3, fields))}
    assert used == set(range(1, 2 + 3 * len(fields)))


def test_chunks_keep_the_order_and_their_bounds() -> None:
    rows = [(str(number), b"x" * size) for number, size in enumerate([10, 9 << 20, 10, *[10] * 450])]
    parts = list(chunks(rows))
    assert [row for part in parts for row in part] == rows
    assert [len(part) for part in parts] == [1, 1, 128, 128, 128, 67]


def test_no_rows_make_no_chunk() -> None:
    assert list(chunks([])) == []


@pytest.mark.parametrize(("rows", "size"), [(1, 1), (2, 2), (3, 4), (5, 8), (64, 64), (65, 128), (128, 128)])
def test_a_statement_has_room_for_its_rows_and_few_sizes(rows: int, size: int) -> None:
    assert padded(rows) == size
