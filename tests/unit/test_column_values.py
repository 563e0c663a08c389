"""A column's value as JSON that means the same. What each type looks like in an envelope: tests/golden."""

from __future__ import annotations

import base64
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.routing.arrays import ELEMENT_OIDS
from cdc_relay.routing.json_text import is_json
from cdc_relay.routing.values import RENDERERS, compile_value, iso_utc, read_bytea

BYTEA, INT8, TEXT, NUMERIC, TEXT_ARRAY, BYTEA_ARRAY, TIMESTAMPTZ = 17, 20, 25, 1700, 1009, 1001, 1184
JSON_TYPES = {114, 3802}  # passed as Postgres has checked them
ANY_OID = st.sampled_from(sorted({*RENDERERS, *ELEMENT_OIDS, TEXT, 99_999} - JSON_TYPES - {199, 3807}))


def render(type_oid: int, printed: str | None) -> str:
    return compile_value(type_oid)(None if printed is None else printed.encode())


def print_array(elements: list[object]) -> str:
    """As array_out does, with every element in quotes."""
    return "{" + ",".join(_print_element(element) for element in elements) + "}"


def _print_element(element: object) -> str:
    if element is None:
        return "NULL"
    if isinstance(element, list):
        return print_array(element)
    return '"' + str(element).replace("\\", "\\\\").replace('"', '\\"') + '"'


@given(st.integers(-(2**63), 2**63 - 1))
def test_an_int8_is_digit_for_digit_a_number(number: int) -> None:
    assert render(INT8, str(number)) == str(number)


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_a_numeric_keeps_every_digit(number: Decimal) -> None:
    printed = f"{number:f}"
    assert render(NUMERIC, printed) == printed
    assert json.loads(render(NUMERIC, printed), parse_float=Decimal, parse_int=Decimal) == number


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_is_a_string_with_the_same_characters(text: str) -> None:
    assert json.loads(render(TEXT, text)) == text


@given(st.binary())
def test_a_bytea_is_base64(content: bytes) -> None:
    assert base64.b64decode(json.loads(render(BYTEA, f"\\x{content.hex()}"))) == content
    assert read_bytea(f"\\x{content.hex()}".encode()) == content


@given(
    st.recursive(
        st.none() | st.text(st.characters(exclude_categories=["Cs"])), lambda inner: st.lists(inner), max_leaves=8
    )
)
def test_an_array_s_elements_are_found_behind_any_quoting(elements: object) -> None:
    array = elements if isinstance(elements, list) else [elements]
    assert json.loads(render(TEXT_ARRAY, print_array(array))) == array


def test_an_array_s_bounds_are_dropped_and_its_elements_are_of_their_type() -> None:
    assert render(1007, "[0:1][-2:-1]={{1,2},{3,NULL}}") == "[[1,2],[3,null]]"
    assert render(BYTEA_ARRAY, '{"\\\\x00ff",NULL}') == '["AP8=",null]'
    assert render(TEXT_ARRAY, '{null,"NULL","[1:1]={}"}') == '["null","NULL","[1:1]={}"]'


@pytest.mark.parametrize(
    "printed", ["", "x", "{", "{1", "}{", "{1,}", "{1}}", '{"a}', "{1}2", "[1:2]=", "{\\", '{"a"b}']
)
def test_what_is_no_array_literal_is_a_string(printed: str) -> None:
    assert json.loads(render(1007, printed)) == printed


@pytest.mark.parametrize(
    ("printed", "iso"),
    [
        ("2026-01-02 03:04:05+00", "2026-01-02T03:04:05Z"),
        ("2026-01-02 03:04:05.000001+00", "2026-01-02T03:04:05.000001Z"),
        ("0001-01-01 00:00:00+00 BC", "0001-01-01 00:00:00+00 BC"),
        ("12026-01-02 03:04:05+00", "12026-01-02 03:04:05+00"),
        ("infinity", "infinity"),
        ("today", "today"),
    ],
)
def test_a_timestamptz_is_iso_8601_where_that_can_say_it(printed: str, iso: str) -> None:
    assert json.loads(render(TIMESTAMPTZ, printed)) == iso


@pytest.mark.parametrize("type_oid", sorted({*RENDERERS, *ELEMENT_OIDS, TEXT, 99_999}))
def test_null_is_null_for_every_type(type_oid: int) -> None:
    assert render(type_oid, None) == "null"


def test_the_empty_string_stays_one() -> None:
    assert render(TEXT, "") == '""'


@given(
    ANY_OID, st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(["t", "NaN", "1e5", "01", "{}", "--"])
)
def test_what_a_type_never_prints_still_makes_json_or_a_value_error(type_oid: int, printed: str) -> None:
    try:
        rendered = render(type_oid, printed)
    except ValueError:
        assert type_oid in (BYTEA, BYTEA_ARRAY)
    else:
        assert is_json(rendered)


def test_bytes_that_are_not_utf_8_are_a_value_error() -> None:
    with pytest.raises(ValueError, match="utf-8"):
        compile_value(TEXT)(b"\xff")


@pytest.mark.parametrize(
    ("at_us", "text"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (1_767_323_045_123_456, "2026-01-02T03:04:05.123456Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (2**62, f"{2**62} us"),
    ],
)
def test_a_time_in_microseconds_is_iso_8601(at_us: int, text: str) -> None:
    assert iso_utc(at_us) == text
