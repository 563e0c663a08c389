"""What the dlq commands print: safe for a terminal, in words, and JSON with every digit as it was written."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.parking.desk_filter import Filter, parse_key, parse_since
from cdc_relay.parking.desk_json import explain_json, flatten, is_json, pretty
from cdc_relay.parking.desk_queries import Figure
from cdc_relay.parking.desk_text import age, between, describe_payload, inline, safe
from cdc_relay.parking.desk_views import figures_sheet, list_sheet, record_text
from tests.unit.dlq_rows import make_row

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(), below, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.sampled_from([None, 0, 3]), st.booleans())
def test_layout_changes_nothing_but_blanks(value: object, indent: int | None, ensure_ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ensure_ascii)
    assert json.loads(pretty(text)) == json.loads(flatten(text)) == value
    assert flatten(pretty(text)) == flatten(text)


@given(VALUES)
def test_the_layout_is_that_of_everybody_else(value: object) -> None:
    assert pretty(json.dumps(value)) == json.dumps(value, indent=2)
    assert flatten(json.dumps(value, indent=2)) == json.dumps(value)


def test_numbers_and_repeated_names_stay_as_they_were_written() -> None:
    text = '{"a":1.10,"a":1E400,"b":12345678901234567890123}'
    assert flatten(text) == '{"a": 1.10, "a": 1E400, "b": 12345678901234567890123}'
    assert pretty("[ ]") == "[]"


@pytest.mark.parametrize("text", ["", "{", "NaN", "[Infinity]", "'a'", "{'a': 1}", "1 2", "[" * 100_000])
def test_what_is_no_json_is_explained_without_quoting_it(text: str) -> None:
    assert not is_json(text)
    assert len(explain_json(text) or "") < 100


def test_digits_without_end_are_json() -> None:
    assert is_json("1" * 10_000)


@given(st.text() | st.binary())
def test_nothing_that_is_shown_can_steer_a_terminal(data: str | bytes) -> None:
    assert inline(data).isprintable()
    if isinstance(data, str):
        assert safe(data).isprintable()
        data = data.encode("utf-8", "surrogatepass")
    title, body = describe_payload(data, limit=None)
    assert title.isprintable()
    assert all(line.replace("\t", "").isprintable() for line in body.split("\n"))


@given(st.text(), st.binary())
def test_a_row_of_anything_is_shown_harmlessly(text: str, data: bytes) -> None:
    everywhere = dict.fromkeys(("event_id", "tenant", "last_error", "error_code", "remedy", "route", "slot"), text)
    row = make_row(
        **everywhere, key=data, value=data, headers=[{"name": text, "value": text}], edits=[{"by": text, text: text}]
    )
    assert all(line.replace("\t", "").isprintable() for line in record_text(row, full=True).split("\n"))
    [cells] = list_sheet([row], with_slot=True).rows
    assert all(cell.isprintable() for cell in cells)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "0 s"), (0, "0 s"), (59.9, "59 s"), (60, "1 min"), (3 * 3600 + 5, "3 h"), (86_400 * 400, "400 d")],
)
def test_ages_are_in_words(seconds: float, words: str) -> None:
    assert age(seconds) == words


def test_a_time_that_python_cannot_hold_is_shown_as_it_is() -> None:
    assert between("infinity", "2026-01-31T11:00:00+00:00") is None
    row = make_row(status="scheduled", scheduled_at="infinity", parked_at="-infinity")
    [cells] = list_sheet([row], with_slot=False).rows
    assert "at infinity" in cells
    assert "infinity" in record_text(row, full=False)


def test_figures_are_a_table() -> None:
    sheet = figures_sheet([Figure("s", "dead", None, None, 1_234, 20_480, 7_200.0)], with_slot=True)
    assert sheet.rows == [["s", "dead", "-", "-", "1,234", "20 KiB", "2 h"]]


def test_since_is_how_long_ago_or_a_time() -> None:
    assert parse_since("30m") == parse_since("30 min") == timedelta(minutes=30)
    assert parse_since("7d") == timedelta(days=7)
    assert parse_since("2026-01-31T08:00") == datetime(2026, 1, 31, 8, tzinfo=UTC)
    assert parse_since("2026-01-31T08:00+02:00") == datetime(2026, 1, 31, 6, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "soon", "5", "5 weeks", "-1h", "2026-13-01"])
def test_since_is_nothing_else(text: str) -> None:
    with pytest.raises(ValueError, match="expected how long ago"):
        parse_since(text)


def test_a_key_is_text_or_hex() -> None:
    assert parse_key("ü") == "ü".encode()
    assert parse_key("\\x00ff") == b"\x00\xff"
    with pytest.raises(ValueError, match="hex digits"):
        parse_key("\\xz")


def test_a_filter_has_only_conditions_that_were_given() -> None:
    assert Filter().where() == ("true", {})
    assert Filter(slot="s", topic="'; --").where() == (
        "slot = %(slot)s AND topic = %(topic)s",
        {"slot": "s", "topic": "'; --"},
    )
