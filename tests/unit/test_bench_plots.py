"""Plots and tables of the benchmark of growth."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

from click.testing import CliRunner

from tests.bench.growth import PART
from tests.bench.growth_axes import AXES, find_axis
from tests.bench.measurement import Book, Measurement
from tests.bench.plots import draw, main, tabulate

TOPICS, PARKED = find_axis("topics"), find_axis("parked")


def point(axis: str, x: float, *rates: float, **more: float) -> list[Measurement]:
    values = [{"x": x, "events_per_s": rate, "rss_peak_mb": 70.0, **more} for rate in rates]
    return [Measurement(PART, axis, f"{x:,.0f}", number, each) for number, each in enumerate(values)]


def book(*points: list[Measurement]) -> Book:
    return Book(entries=[entry for each in points for entry in each])


def curves(picture: str) -> list[list[tuple[float, float]]]:
    lines = ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}polyline")
    return [
        [(float(x), float(y)) for x, y in (pair.split(",") for pair in line.attrib["points"].split())] for line in lines
    ]


def test_the_middle_round_is_drawn_and_all_are_in_the_table() -> None:
    found = book(point("topics", 1, 100_000, 90_000, 5_000_000), point("topics", 500, 50_000))
    assert list(tabulate(found, TOPICS))[2:] == [
        "| 1 | 100,000 | 70 | 100,000 / 90,000 / 5,000,000 |",
        "| 500 | 50,000 | 70 | 50,000 |",
    ]
    rates, _ = curves(draw(found, TOPICS))
    assert rates[0][1] < rates[1][1]  # more is higher up, where y is less


def test_flat_memory_is_a_flat_line() -> None:
    _, memory = curves(draw(book(point("topics", 1, 9), point("topics", 20, 8), point("topics", 500, 7)), TOPICS))
    assert len({y for _, y in memory}) == 1


def test_nothing_parked_is_left_of_one_thousand() -> None:
    [places, _] = curves(draw(book(*(point("parked", x, 9) for x in (0, 1_000, 1_000_000))), PARKED))
    assert all(left < right for (left, _), (right, _) in pairwise(places))


def test_what_was_seen_at_rest_has_its_columns() -> None:
    rest = Measurement(PART, "parked", "0", 1, {"x": 0, "first_record_s": 0.5})
    head, _, row = tabulate(book(point("parked", 0, 10), [rest]), PARKED)
    assert "start to first record s" in head
    assert row == "| 0 | 10 | 70 | 0.50 | 10 |"


def test_files_are_small_stable_and_have_their_text_as_text(tmp_path: Path) -> None:
    found = book(*(point(axis.name, each.x, 150_000) for axis in AXES for each in axis.points))
    for axis in AXES:
        picture = draw(found, axis)
        assert picture == draw(found, axis)
        assert len(picture) < 40_000
        assert axis.title in picture


def test_only_what_was_measured_is_written(tmp_path: Path) -> None:
    found = book(point("topics", 1, 10))
    found.path = tmp_path / "found.json"
    found.save()
    result = CliRunner().invoke(main, [str(found.path), "--to", str(tmp_path / "to")], catch_exceptions=False)
    assert "### Number of topics" in result.output
    assert [each.name for each in (tmp_path / "to").iterdir()] == ["growth-topics.svg"]


def test_one_point_can_be_drawn_even_at_zero() -> None:
    rates, _ = curves(draw(book(point("parked", 0, 10)), PARKED))
    assert len(rates) == 1
