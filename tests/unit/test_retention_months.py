"""Months as partitions: what is planned from bounds, whatever the names."""

from __future__ import annotations

from datetime import datetime

import pytest

from cdc_relay.admin.retention.months import Month, Partition, leaf_name, parse_bound, plan_months

NOW = datetime(2026, 12, 15, 12)
DECEMBER, JANUARY, FEBRUARY = Month(2026, 12), Month(2027, 1), Month(2027, 2)


def month(year: int, number: int, name: str = "p") -> Partition:
    return Partition(name, Month(year, number).begin, Month(year, number).end)


def test_this_month_and_the_next_two_are_made_across_the_year() -> None:
    assert plan_months([], now=NOW, cutoff=None).make == (DECEMBER, JANUARY, FEBRUARY)


def test_what_is_there_is_not_made() -> None:
    assert plan_months([month(2026, 12), month(2027, 2)], now=NOW, cutoff=None).make == (JANUARY,)


@pytest.mark.parametrize(
    ("cutoff", "dropped"),
    [
        (datetime(2026, 11, 1), ["october"]),  # wholly before it: the end is no part of the month
        (datetime(2026, 10, 31, 23, 59, 59), []),
        (datetime(2026, 12, 14), ["october", "november"]),
    ],
)
def test_a_month_goes_when_its_last_moment_is_older(cutoff: datetime, dropped: list[str]) -> None:
    partitions = [month(2026, 11, "november"), month(2026, 12, "december"), month(2026, 10, "october")]
    assert [each.name for each in plan_months(partitions, now=NOW, cutoff=cutoff).drop] == dropped


def test_without_a_cutoff_nothing_goes() -> None:
    assert plan_months([month(1999, 1)], now=NOW, cutoff=None).drop == ()


def test_the_default_partition_is_no_month_and_in_nobodys_way() -> None:
    plan = plan_months([Partition("rest", is_default=True)], now=NOW, cutoff=NOW)
    assert (len(plan.make), plan.drop, plan.notes) == (3, (), ())


def test_a_month_on_another_server_is_left_alone() -> None:
    archive = Partition("archive", Month(2020, 1).begin, Month(2020, 1).end, is_foreign=True)
    plan = plan_months([archive], now=NOW, cutoff=NOW)
    assert (plan.drop, plan.notes[0].startswith("partition archive is old")) == ((), True)


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ("DEFAULT", Partition("p", is_default=True)),
        ("FOR VALUES FROM ('2026-12-01 00:00:00+00') TO ('2027-01-01 00:00:00+00')", month(2026, 12)),
        ("FOR VALUES FROM ('2026-12-01 00:00:00') TO ('2027-01-01 00:00:00')", month(2026, 12)),
        ("FOR VALUES FROM (MINVALUE) TO ('2027-01-01 00:00:00+00')", Partition("p", None, JANUARY.begin)),
        ("FOR VALUES FROM ('2026-12-01 00:00:00+00') TO (MAXVALUE)", Partition("p", DECEMBER.begin, None)),
        (
            "FOR VALUES FROM ('2026-12-01 00:00:00.5+00') TO ('2027-01-01 00:00:00+00')",
            Partition("p", datetime(2026, 12, 1, 0, 0, 0, 500_000), JANUARY.begin),
        ),
    ],
)
def test_bounds_are_read_as_postgres_prints_them(bound: str, expected: Partition) -> None:
    assert parse_bound("p", bound) == expected


@pytest.mark.parametrize(
    "bound",
    [
        "FOR VALUES IN ('a')",
        "FOR VALUES FROM (1) TO (2)",
        "FOR VALUES FROM ('2026-12-01 01:00:00+01') TO ('2027-01-01 00:00:00+00')",
    ],
)
def test_bounds_that_are_no_times_in_utc_are_refused(bound: str) -> None:
    with pytest.raises(ValueError, match="partition p has bounds"):
        parse_bound("p", bound)


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("'2026-12-01 00:00:00+00'", "'infinity'"),
        ("'2020-01-01 00:00:00+00'", "'12020-01-01 00:00:00+00'"),
        ("'-infinity'", "'2020-02-01 00:00:00+00'"),
        ("'0044-03-15 00:00:00+00 BC'", "'2020-02-01 00:00:00+00'"),
        ("MINVALUE", "'0044-03-15 00:00:00+00 BC'"),
        ("'infinity'", "MAXVALUE"),
    ],
)
def test_a_bound_beyond_the_calendar_leaves_its_partition_alone(begin: str, end: str) -> None:
    """And no other: the month of the rest is dropped."""
    odd = parse_bound("odd", f"FOR VALUES FROM ({begin}) TO ({end})")
    plan = plan_months([odd, month(2020, 3, "march")], now=NOW, cutoff=datetime(2026, 11, 1))
    assert [each.name for each in plan.drop] == ["march"]
    assert plan.notes == ("partition odd is left alone: a bound of it is no time in the years 1 to 9999",)


def test_the_last_month_of_the_calendar_breaks_nothing() -> None:
    last = parse_bound("last", "FOR VALUES FROM ('9999-12-01 00:00:00+00') TO (MAXVALUE)")
    assert plan_months([last], now=NOW, cutoff=NOW).notes == ()


def test_an_endless_partition_has_the_months_to_come() -> None:
    endless = parse_bound("odd", "FOR VALUES FROM ('2026-01-01 00:00:00+00') TO ('infinity')")
    assert plan_months([endless], now=NOW, cutoff=None).make == ()


def test_a_name_fits_into_postgres_limit_without_half_a_character() -> None:
    assert leaf_name("outbox", DECEMBER) == "outbox_2026_12"
    name = leaf_name("ü" * 31, DECEMBER)
    assert name == "ü" * 27 + "_2026_12"
    assert len(name.encode()) <= 63
