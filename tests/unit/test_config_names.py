"""SQL identifiers mean in the YAML what they mean in psql."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.config.names import TableName, parse_identifier, parse_table, quote_identifier

_NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(
    lambda name: len(name.encode()) <= 63
)


@pytest.mark.parametrize(
    ("text", "schema", "name"),
    [
        ("public.outbox", "public", "outbox"),
        ("outbox", "public", "outbox"),
        ("Sales.OutBox", "sales", "outbox"),
        ('public."Order.Outbox"', "public", "Order.Outbox"),
        ('"My Schema"."a""b"', "My Schema", 'a"b'),
        ("public.order", "public", "order"),
        ("ÄRA.ÖL$1", "Ära", "Öl$1"),
    ],
)
def test_a_table_is_found_under_its_name_in_the_catalog(text: str, schema: str, name: str) -> None:
    assert parse_table(text) == TableName(schema, name)


@pytest.mark.parametrize(
    "text", ["", ".", "a.", ".a", "a.b.c", 'a"b', '"a', '""', 'public.""', "a b", "1a", "a-b", "a.b;", '"a"b', "a\n"]
)
def test_what_is_no_table_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"identifier|empty|expected"):
        parse_table(text)


def test_a_name_that_postgres_would_cut_is_refused() -> None:
    assert parse_identifier("a" * 63) == "a" * 63
    with pytest.raises(ValueError, match="63 bytes"):
        parse_identifier("ä" * 32)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("outbox", "outbox"),
        ("_a1", "_a1"),
        ("Outbox", '"Outbox"'),
        ("order", '"order"'),
        ('a"b', '"a""b"'),
        ("1", '"1"'),
    ],
)
def test_only_what_needs_quotes_gets_them(name: str, shown: str) -> None:
    assert quote_identifier(name) == shown


@given(_NAMES, _NAMES)
def test_every_table_reads_back_as_it_was_shown(schema: str, name: str) -> None:
    table = TableName(schema, name)
    assert parse_table(str(table)) == table


@given(_NAMES)
def test_every_name_reads_back_as_it_was_quoted(name: str) -> None:
    assert parse_identifier(quote_identifier(name)) == name


@given(st.text(alphabet='ab."A \0$é'))
def test_garbage_is_a_table_or_a_value_error(text: str) -> None:
    try:
        table = parse_table(text)
    except ValueError:
        return
    assert parse_table(str(table)) == table
