"""Points in time as Postgres prints them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cdc_relay.routing.schedule import Due, parse_due

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def printed(moment: datetime) -> str:
    """As Postgres does: a fraction without its last zeros."""
    fraction = f".{moment.microsecond:06}".rstrip("0").rstrip(".")
    return f"{moment.year:04}-{moment:%m-%d %H:%M:%S}{fraction}"


@given(st.datetimes(timezones=st.just(UTC)))
def test_every_moment_is_read_to_the_microsecond(moment: datetime) -> None:
    due = Due((moment - EPOCH) // MICROSECOND, printed(moment) + "+00")
    assert parse_due(f"{printed(moment)}+00".encode()) == due
    assert parse_due(printed(moment).encode()) == due


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-01T12:00:00Z",
        "2024-05-01 12:00:00Z",
        "2024-05-01T14:00:00+02:00",
        "2024-05-01 14:00:00+02",
        "2024-05-01T06:30:00-0530",
        "2024-05-01T12:00:00.000000999Z",
    ],
)
def test_a_time_of_a_json_message_may_have_any_zone(text: str) -> None:
    due = parse_due(text.encode())
    assert due is not None
    assert (due.at_us, due.text) == (1_714_564_800_000_000, text)


def test_years_beyond_those_of_python_are_read() -> None:
    """Reference values: extract(epoch from …) of Postgres."""
    last, first = parse_due(b"294276-12-31 23:59:59+00"), parse_due(b"4713-01-01 00:00:00+00 BC")
    assert last is not None
    assert first is not None
    assert last.at_us == 9_224_318_015_999_000_000
    assert first.at_us == -210_863_520_000_000_000


def test_a_moment_before_christ_gets_its_zone_before_the_era() -> None:
    due = parse_due(b"0001-12-31 23:59:59 BC")
    assert due is not None
    assert due.text == "0001-12-31 23:59:59+00 BC"
    year_one = parse_due(b"0001-01-01 00:00:00")
    assert year_one is not None
    assert year_one.at_us - due.at_us == 1_000_000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "infinity",
        "-infinity",
        "2024-05-01",
        "2024-02-30 12:00:00+00",
        "2023-02-29 12:00:00+00",
        "2024-05-01 24:00:00+00",
        "2024-05-01 12:00:60+00",
        "0000-01-01 00:00:00+00",
        "294277-01-01 00:00:00+00",
        "9999-01-01 00:00:00+00 BC",
        "2024-05-01 12:00:00+00\n",
        "2024-05-01 12:00:00+16",
        "2024-05-01 12:00:00-99:99",
        "2024-05-01 12:00:00+05:60",
        "294276-12-31 23:59:59-01",
        "294276-12-31 23:59:59.9999999+00",
        "4714-11-24 00:00:00+01 BC",
        " 2024-05-01 12:00:00+00",
        "٢٠٢٤-05-01 12:00:00+00",
    ],
)
def test_what_is_neither_postgres_nor_iso_8601_is_no_point_in_time(text: str) -> None:
    assert parse_due(text.encode()) is None


@given(st.binary() | st.text("0123456789-: .+BC").map(str.encode))
@example(b"\xff")
def test_no_bytes_raise(text: bytes) -> None:
    parse_due(text)
