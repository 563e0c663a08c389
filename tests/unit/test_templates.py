"""Templates: parsed once, rendered from a row's values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.errors import ConfigError
from cdc_relay.protocol.messages import Column
from cdc_relay.routing.places import Places
from cdc_relay.routing.templates import Template

PLAIN = st.text(st.characters(exclude_characters="{}", exclude_categories=["Cs"]))
NAME = st.text(st.characters(exclude_characters="{}.", exclude_categories=["Cs"]), min_size=1)


def render(text: str, **row: bytes | None) -> bytes | None:
    places = Places(tuple(Column(name, 25, -1, False) for name in row))
    return Template.parse(text).bind(places)(tuple(row.values()))


@given(st.lists(st.tuples(PLAIN, NAME)), PLAIN)
def test_a_template_keeps_its_literals_and_columns(pieces: list[tuple[str, str]], last: str) -> None:
    template = Template.parse("".join(f"{literal}{{{column}}}" for literal, column in pieces) + last)
    assert template.columns == tuple(column for _, column in pieces)
    assert template.literals == (*(literal for literal, _ in pieces), last)


@given(st.lists(st.tuples(PLAIN, NAME)), PLAIN)
def test_a_template_is_spelled_as_it_was_written(pieces: list[tuple[str, str]], last: str) -> None:
    text = "".join(f"{literal}{{{column}}}" for literal, column in pieces) + last
    assert str(Template.parse(text)) == text


@given(st.lists(st.tuples(PLAIN, PLAIN)), PLAIN)
def test_values_stand_where_their_columns_stood(pieces: list[tuple[str, str]], last: str) -> None:
    row = {f"c{place}": value.encode() for place, (_, value) in enumerate(pieces)}
    text = "".join(f"{literal}{{c{place}}}" for place, (literal, _) in enumerate(pieces)) + last
    assert render(text, **row) == ("".join(literal + value for literal, value in pieces) + last).encode()


@given(st.text())
def test_any_text_is_parsed_or_refused_as_configuration(text: str) -> None:
    try:
        template = Template.parse(text)
    except ConfigError:
        return
    assert len(template.literals) == len(template.columns) + 1


@pytest.mark.parametrize("text", ["{", "}", "a{b", "a}b", "{}", "a{}b", "{{a}}", "{a}}", "{a}{", "}{"])
def test_a_brace_without_a_column_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="template"):
        Template.parse(text)


def test_a_null_anywhere_renders_nothing() -> None:
    assert render("{a}.{b}", a=b"x", b=None) is None
    assert render("{a}.{b}", a=None, b=b"x") is None


def test_a_field_alone_is_its_value_or_null() -> None:
    assert (render("{a}", a=b"\xff\x00"), render("{a}", a=None)) == (b"\xff\x00", None)


def test_an_empty_value_is_not_null() -> None:
    assert render("a{b}c", b=b"") == b"ac"


def test_a_template_without_columns_is_its_text() -> None:
    assert render("orders.events.v1") == b"orders.events.v1"


def test_braces_in_a_value_are_not_read_again() -> None:
    assert render("a.{b}", b=b"{b}") == b"a.{b}"


def test_a_place_in_json_is_read_as_it_is_written() -> None:
    payload = b'{"customer": {"id": 12345678901234567890, "name": "Ada"}, "lines": [{"sku": "x"}], "gone": null}'
    assert render("{p.customer.id}", p=payload) == b"12345678901234567890"
    assert render("{p.customer.name}-{p.lines.0.sku}", p=payload) == b"Ada-x"
    assert [render(f"{{p.{path}}}", p=payload) for path in ("gone", "nothing", "customer.name.x", "lines.1")] == [
        None
    ] * 4


@pytest.mark.parametrize("payload", [None, b"", b"nonsense", b"[1", b"\xff", b'"text"'])
def test_a_place_in_what_is_no_json_is_null(payload: bytes | None) -> None:
    assert render("{p.a}", p=payload) is None
