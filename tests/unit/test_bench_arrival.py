"""When the benchmark's clock stops."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest

from tests.bench.arrival import Arrival, _pause, watch_arrival


def showing(counts: Sequence[int], shown: list[float]) -> Callable[[], int]:
    """Each count once, then the last one for ever; when each was looked at."""

    def count() -> int:
        shown.append(time.monotonic())
        return counts[min(len(shown), len(counts)) - 1]

    return count


def watch(*counts: int, target: int = 20) -> tuple[Arrival, list[float]]:
    shown: list[float] = []
    found = watch_arrival(showing(counts, shown), 10, target, pause_seconds=0.001, quiet_seconds=0.1)
    return found, shown


def test_the_first_and_the_last_record_are_timed() -> None:
    found, shown = watch(10, 10, 14, 14, 20)
    assert shown[2] <= found.first_at < shown[3]
    assert shown[4] <= found.last_at < shown[5]
    assert found.count == 20


def test_the_clock_goes_on_while_duplicates_stand_in_for_others() -> None:
    found, shown = watch(15, 20, 20, 23)
    assert found.last_at >= shown[3]
    assert found.count == 23


def test_nothing_to_wait_for_takes_a_moment_of_silence() -> None:
    found, shown = watch(10, target=10)
    assert found.count == 10
    assert time.monotonic() - shown[0] >= 0.09


def test_a_drain_that_stalls_says_what_is_left() -> None:
    with pytest.raises(TimeoutError, match="5 events left"):
        watch_arrival(lambda: 15, 10, 20, pause_seconds=0.001, stall_seconds=0.02)


@pytest.mark.parametrize(
    ("done", "expected"), [(0.0, 0.2), (0.5, 0.2), (0.8, 0.125), (0.99, 0.02), (1.0, 0.2), (1.2, 0.2)]
)
def test_towards_the_end_it_looks_more_often(done: float, expected: float) -> None:
    assert _pause(0.2, 1.0, done) == pytest.approx(expected)
