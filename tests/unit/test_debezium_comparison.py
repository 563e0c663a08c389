"""The judge of `make compare-debezium` sees every difference, and nothing that is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.compare.differences import Choice, stale_places, unexplained
from tests.compare.wire import Outcome, Stopped, Wire, from_json, parts_that_differ, spell, to_json, unspell

RECORD = Wire("orders", 1, "k", '{"a": 1.10, "b": [true, null]}', [("id", "e1"), ("tenant", None)], 5)
CHOSEN = (Choice("what", "why", ("expand/*:value", "default/null:record")),)


def parts(theirs: Outcome, ours: Outcome, *, is_json: bool = False) -> list[str]:
    return list(parts_that_differ(theirs, ours, is_json=is_json))


def test_a_record_does_not_differ_from_itself() -> None:
    assert parts(RECORD, RECORD) == []


@pytest.mark.parametrize(
    ("other", "part"),
    [
        (replace(RECORD, topic="order"), "topic"),
        (replace(RECORD, partition=2), "partition"),
        (replace(RECORD, key=None), "key"),
        (replace(RECORD, value=None), "value"),
        (replace(RECORD, headers=RECORD.headers[::-1]), "headers"),
        (replace(RECORD, headers=[("id", "e1"), ("tenant", "")]), "headers.tenant"),
        (replace(RECORD, timestamp_ms=6), "timestamp_ms"),
        (Stopped("parked: no_route"), "record"),
    ],
)
def test_every_part_is_compared(other: Outcome, part: str) -> None:
    assert parts(RECORD, other) == parts(other, RECORD) == [part]


def test_what_nothing_in_the_row_decides_is_not_compared() -> None:
    assert parts(RECORD, replace(RECORD, partition=None, timestamp_ms=None)) == []


@pytest.mark.parametrize("same", ['{"a":1.1,"b":[true,null]}', '{"\\u0061": 11e-1, "b": [true, null]}'])
def test_json_is_compared_by_its_meaning(same: str) -> None:
    assert parts(RECORD, replace(RECORD, value=same), is_json=True) == []
    assert parts(RECORD, replace(RECORD, value=same)) == ["value"]


@pytest.mark.parametrize(
    ("other", "member"),
    [
        ('{"a": 1.1000000000000000000001, "b": [true, null]}', "a"),
        ('{"a": "1.10", "b": [true, null]}', "a"),
        ('{"a": 1.10, "b": [1, null]}', "b"),
        ('{"a": 1.10, "b": {}}', "b"),
    ],
)
def test_of_an_object_the_members_that_differ_are_named(other: str, member: str) -> None:
    assert parts(RECORD, replace(RECORD, value=other), is_json=True) == [f"value.{member}"]


def test_an_empty_object_is_no_empty_array() -> None:
    assert parts(replace(RECORD, value="{}"), replace(RECORD, value="[]"), is_json=True) == ["value"]


@pytest.mark.parametrize(
    "other",
    [
        '{"b": [true, null], "a": 1.10}',
        '{"a": 1.10, "a": 1.10, "b": [true, null]}',
        "no JSON",
        None,
        {"hex": "ff"},
    ],
)
def test_json_that_means_something_else_differs(other: str) -> None:
    assert parts(RECORD, replace(RECORD, value=other), is_json=True) == ["value"]


@pytest.mark.parametrize("outcome", [RECORD, replace(RECORD, value={"hex": "ff"}), Stopped("a reason")])
def test_the_golden_file_gives_back_what_it_was_given(outcome: Outcome) -> None:
    assert from_json(to_json(outcome)) == outcome


@pytest.mark.parametrize("value", [None, b"", b"text", "Zoë".encode(), b"\xff\x00"])
def test_bytes_survive_the_golden_file(value: bytes | None) -> None:
    assert unspell(spell(value)) == value


def test_a_difference_needs_a_choice_that_names_its_place() -> None:
    found = ["expand/plain:value", "expand/plain:headers", "default/null:record"]
    assert unexplained(found, CHOSEN) == ["expand/plain:headers"]


def test_a_choice_whose_difference_is_gone_is_stale() -> None:
    assert stale_places(["expand/plain:value"], CHOSEN) == ["default/null:record"]
