"""Durations, sizes, counts and shares: one spelling, one value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.config.units import (
    format_duration,
    format_share,
    format_size,
    parse_count,
    parse_duration,
    parse_share,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("30s", 30.0),
        ("1.5s", 1.5),
        ("5m", 300.0),
        ("1h", 3600.0),
        ("0s", 0.0),
        ("0.1s", 0.1),
        ("7d", 604_800.0),
    ],
)
def test_a_duration_is_read_in_its_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["30", "", "s", "-1s", "1 s", "1w", "1e3s", "٣s", "1s\n", True, None, ["1s"]])
def test_a_duration_without_a_known_unit_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (30.0, "30s"),
        (60.0, "60s"),
        (300.0, "5m"),
        (3600.0, "1h"),
        (0.5, "500ms"),
        (90.0, "90s"),
        (86_400.0, "24h"),
        (604_800.0, "7d"),
    ],
)
def test_a_duration_is_shown_as_people_write_it(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.floats(min_value=0, max_value=1e9))
def test_every_duration_reads_back_as_it_was_shown(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize(
    ("text", "size_bytes"), [("64KiB", 65536), ("32MiB", 33554432), ("1GiB", 1073741824), ("1000", 1000), ("0", 0)]
)
def test_a_size_is_read_in_its_unit(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize("text", ["32MB", "1.5GiB", "-1", "32 MiB", "32mib", "010", "9" * 5000, False, None])
def test_an_ambiguous_size_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="expected a size"):
        parse_size(text)


@given(st.integers(min_value=0, max_value=1 << 50))
def test_every_size_reads_back_as_it_was_shown(size_bytes: int) -> None:
    assert parse_size(format_size(size_bytes)) == size_bytes


@given(st.integers(min_value=0, max_value=10**17))
def test_a_count_is_the_same_with_and_without_quotes(count: int) -> None:
    assert parse_count(str(count)) == parse_count(count) == count


@pytest.mark.parametrize("text", ["1.0", "010", "1_000", "0x10", "many", True, None])
def test_what_is_no_plain_whole_number_is_no_count(text: object) -> None:
    with pytest.raises(ValueError, match="expected a whole number"):
        parse_count(text)


@given(st.floats(0, 1))
def test_every_share_reads_back_as_it_was_shown(share: float) -> None:
    assert parse_share(format_share(share)) == parse_share(repr(share)) == parse_share(share) == share


@pytest.mark.parametrize("text", ["", "10%", "-0.1", ".5", "1e3", "nan", "some", True, None])
def test_what_is_no_plain_number_is_no_share(text: object) -> None:
    with pytest.raises(ValueError, match="expected a share"):
        parse_share(text)


@given(st.text())
def test_garbage_is_a_value_or_a_value_error(text: str) -> None:
    for parse in (parse_duration, parse_size, parse_count, parse_share):
        try:
            parse(text)
        except ValueError as exc:
            assert str(exc).startswith("expected")
