"""When a parked record is tried again."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.delivery.backoff import AGGRESSIVE, PRESETS, STANDARD, delay_seconds
from cdc_relay.model import Retry

SECONDS = st.floats(0.01, 604_800)
RETRIES = st.builds(Retry, base_seconds=SECONDS, max_seconds=SECONDS, jitter=st.floats(0, 1))
CHANCE = st.floats(0, 1, exclude_max=True)


def middle() -> float:
    return 0.5


def test_the_presets_are_those_of_the_documentation() -> None:
    assert Retry(5.0, 1800.0, 0.1, 5) == STANDARD == Retry()
    assert Retry(1.0, 300.0, 0.2, 3) == AGGRESSIVE
    assert {"standard": STANDARD, "aggressive": AGGRESSIVE} == PRESETS


@pytest.mark.parametrize(("attempts", "seconds"), [(0, 5), (1, 10), (2, 20), (8, 1280), (9, 1800), (100, 1800)])
def test_a_delay_doubles_up_to_the_maximum(attempts: int, seconds: float) -> None:
    assert delay_seconds(STANDARD, attempts, middle) == seconds


def test_a_number_of_attempts_below_zero_is_none() -> None:
    assert delay_seconds(STANDARD, -3, middle) == delay_seconds(STANDARD, 0, middle)


@given(RETRIES, st.integers(0, 60), CHANCE)
def test_a_delay_is_the_formula_give_or_take_its_share(retry: Retry, attempts: int, chance: float) -> None:
    steady = min(retry.base_seconds * 2**attempts, retry.max_seconds)
    share = retry.jitter * (1 + 1e-9)
    assert steady * (1 - share) <= delay_seconds(retry, attempts, lambda: chance) <= steady * (1 + share)


@given(RETRIES, st.integers(0), CHANCE)
def test_no_number_of_attempts_is_too_large(retry: Retry, attempts: int, chance: float) -> None:
    seconds = delay_seconds(retry, attempts, lambda: chance)
    assert math.isfinite(seconds)
    assert 0 <= seconds <= retry.max_seconds * 2


@pytest.mark.parametrize("attempts", [1023, 1024, 10**6, 2**63, 10**400])
def test_a_huge_number_of_attempts_waits_the_maximum(attempts: int) -> None:
    assert delay_seconds(STANDARD, attempts, middle) == 1800


@given(RETRIES, st.integers(0, 10_000))
def test_without_chance_a_later_delay_is_never_shorter(retry: Retry, attempts: int) -> None:
    assert delay_seconds(retry, attempts, middle) <= delay_seconds(retry, attempts + 1, middle)


@pytest.mark.parametrize(("chance", "seconds"), [(0.0, 4.5), (0.5, 5.0), (1.0, 5.5)])
def test_jitter_goes_both_ways(chance: float, seconds: float) -> None:
    assert delay_seconds(STANDARD, 0, lambda: chance) == pytest.approx(seconds)
