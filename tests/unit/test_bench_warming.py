"""When a broker counts as warm: it has stopped getting faster."""

from __future__ import annotations

import pytest

from tests.bench.part_ratios import has_levelled


@pytest.mark.parametrize(
    ("rates", "is_level"),
    [
        ([], False),
        ([100, 100, 100, 100], False),  # too few to know
        ([100, 100, 100, 100, 100], True),
        ([75, 80, 90, 100, 120, 144], False),
        ([75, 100, 140, 144, 138, 145, 141], True),
        ([100, 140, 90, 80, 70], True),  # slower is no reason to go on
    ],
)
def test_warm_is_who_no_longer_gets_faster(rates: list[float], is_level: bool) -> None:
    assert has_levelled(rates) is is_level
