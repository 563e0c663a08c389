"""What a route asks of a value, and when one route takes all that another would."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.routing.conditions import Condition, Exact, Glob, IsNull, Not, OneOf, covers, holds

A, B, STAR, ANY = Exact(b"a"), Exact(b"b"), Glob("a*"), Glob("*")

LEAVES: st.SearchStrategy[Condition] = st.one_of(
    st.sampled_from([b"", b"a", b"ab", b"b"]).map(Exact),
    st.sampled_from(["*", "a*", "?", "*b", "a", ""]).map(Glob),
    st.just(IsNull()),
)
CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: inner.map(Not) | st.lists(inner, min_size=1, max_size=3).map(lambda parts: OneOf(tuple(parts))),
)


@pytest.mark.parametrize(
    ("condition", "taken", "refused"),
    [
        (A, [b"a"], [b"A", b"a ", b"", None]),
        (Exact(b""), [b""], [None]),
        (IsNull(), [None], [b"", b"NULL"]),
        (Glob("order.*"), [b"order.", b"order.placed", "order.é\n".encode()], [b"order", b"xorder.a", None]),
        (Glob("a?c"), [b"abc", "aéc".encode(), b"a\xffc"], [b"ac", b"abbc"]),
        (Glob("[a]*"), [b"[a]x"], [b"ax"]),
        (OneOf((A, STAR, IsNull())), [b"a", b"abc", None], [b"b"]),
        (Not(A), [b"b", b"", None], [b"a"]),
        (Not(OneOf((A, IsNull()))), [b"b", b""], [b"a", None]),
    ],
)
def test_a_condition_holds_or_not(condition: Condition, taken: list[bytes | None], refused: list[bytes | None]) -> None:
    assert [value for value in taken if not holds(condition, value)] == []
    assert [value for value in refused if holds(condition, value)] == []


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        (A, A),
        (STAR, A),
        (OneOf((A, B)), A),
        (OneOf((STAR, B)), OneOf((A, B))),
        (Not(B), A),
        (Not(A), Not(OneOf((A, B)))),
        (Not(A), IsNull()),
        (ANY, STAR),
    ],
)
def test_what_takes_all_of_another_is_known(wide: Condition, narrow: Condition) -> None:
    assert covers(wide, narrow)
    assert wide == narrow or not covers(narrow, wide)


def test_the_empty_pattern_does_not_take_all() -> None:
    assert not covers(Glob(""), STAR)


@given(CONDITIONS, CONDITIONS, st.sampled_from([None, b"", b"a", b"ab", b"abb", b"b", b"c"]))
def test_a_condition_that_covers_another_holds_wherever_that_does(
    wide: Condition, narrow: Condition, value: bytes | None
) -> None:
    if covers(wide, narrow) and holds(narrow, value):
        assert holds(wide, value)


@pytest.mark.parametrize("pattern", ["*a" * 20 + "*b", "*a*a*a*b", "a*a?a*b", "*.*.*.created"])
def test_many_stars_cost_no_more_than_one(pattern: str) -> None:
    """One that tried every way would not end within our lives."""
    assert not holds(Glob(pattern), b"a." * 200_000)
    assert not holds(Glob(pattern), b"a" * 400_000)


@given(st.text("ab*?", max_size=8), st.text("abc", max_size=8))
def test_a_pattern_means_what_the_shell_means(pattern: str, text: str) -> None:
    assert holds(Glob(pattern), text.encode()) == fnmatch.fnmatchcase(text, pattern)
