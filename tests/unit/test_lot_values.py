"""Values of every kind come back from the lot as they were, and none is refused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.model import KeptColumn
from cdc_relay.parking.values import as_columns, as_headers, as_text, read_columns, read_headers

anything = st.one_of(st.none(), st.binary(), st.text().map(str.encode))
names = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))


@given(st.lists(st.tuples(names, anything)))
def test_headers_come_back(headers: list[tuple[str, bytes | None]]) -> None:
    assert read_headers(as_headers(headers)[1:]) == headers


@given(
    st.lists(st.builds(KeptColumn, names, st.integers(0, 2**32 - 1), anything, st.integers(-1, 2**31 - 1))),
    st.booleans(),
)
def test_columns_come_back(columns: list[KeptColumn], is_utf8: bool) -> None:
    assert read_columns(as_columns(columns, is_utf8=is_utf8)) == columns


@given(st.one_of(st.binary(), st.text()), st.booleans())
def test_texts_hold_nothing_that_postgres_refuses(value: bytes | str, is_utf8: bool) -> None:
    text = as_text(value, is_utf8=is_utf8)
    assert text is not None
    assert "\x00" not in text
    text.encode("utf-8" if is_utf8 else "ascii")


def test_what_is_null_stays_so() -> None:
    assert as_text(None) is None
