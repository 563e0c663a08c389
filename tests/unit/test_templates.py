"""Templates: parsed once, rendered from a row's values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.errors import ConfigError
from cdc_relay.routing.templates import Template

PLAIN = st.text(st.characters(exclude_characters="{}", exclude_categories=["Cs"]))
NAME = PLAIN.filter(bool)


@given(st.lists(st.tuples(PLAIN, NAME)), PLAIN)
def test_a_template_keeps_its_literals_and_columns(pieces: list[tuple[str, str]], last: str) -> None:
    template = Template.parse("".join(f"{literal}{{{column}}}" for literal, column in pieces) + last)
    assert template.columns == tuple(column for _, column in pieces)
    assert template.literals == (*(literal for literal, _ in pieces), last)


@given(st.lists(st.tuples(PLAIN, NAME)), PLAIN)
def test_a_template_is_spelled_as_it_was_written(pieces: list[tuple[str, str]], last: str) -> None:
    text = "".join(f"{literal}{{{column}}}" for literal, column in pieces) + last
    assert str(Template.parse(text)) == text


@given(st.lists(st.tuples(PLAIN, NAME, PLAIN)), PLAIN)
def test_values_stand_where_their_columns_stood(pieces: list[tuple[str, str, str]], last: str) -> None:
    template = Template.parse("".join(f"{literal}{{{column}}}" for literal, column, _ in pieces) + last)
    rendered = template.render([value.encode() for _, _, value in pieces])
    assert rendered == "".join(literal + value for literal, _, value in pieces) + last


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
    template = Template.parse("{a}.{b}")
    assert template.render([b"x", None]) is None
    assert template.render([None, b"x"]) is None


def test_an_empty_value_is_not_null() -> None:
    assert Template.parse("a{b}c").render([b""]) == "ac"


def test_a_template_without_columns_is_its_text() -> None:
    assert Template.parse("orders.events.v1").render([]) == "orders.events.v1"


def test_braces_in_a_value_are_not_read_again() -> None:
    assert Template.parse("a.{b}").render([b"{b}"]) == "a.{b}"


def test_bytes_that_are_no_utf8_never_raise() -> None:
    assert Template.parse("{a}").render([b"\xff"]) == "\ufffd"


def test_more_or_fewer_values_than_columns_is_a_bug_that_shows() -> None:
    with pytest.raises(ValueError, match="zip"):
        Template.parse("{a}").render([b"x", b"y"])
