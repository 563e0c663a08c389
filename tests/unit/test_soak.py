"""The soak's own arithmetic: numbers without a gap, and what counts as calm."""

from __future__ import annotations

import pytest

from tests.soak.course import Disturbance
from tests.soak.load import KEYS_PER_WRITER
from tests.soak.meter import Reading
from tests.soak.plot import draw
from tests.soak.reader import Numbers
from tests.soak.verdict import Verdict, calm_p99_by_minute, calm_seconds, calm_test, judge

ROUND = KEYS_PER_WRITER


def seen(*numbers: int) -> Numbers:
    found = Numbers()
    for number in numbers:
        found.see(0, number)
    return found


def test_all_numbers_in_order_are_complete() -> None:
    found = seen(*range(1, 3 * ROUND + 1))
    assert (found.first_count, found.duplicate_count, found.gaps) == (3 * ROUND, 0, [])
    assert found.missing_count(0, 3 * ROUND) == 0


def test_keys_may_overtake_each_other() -> None:
    found = seen(2, 1, ROUND + 2, ROUND + 1)
    assert (found.first_count, found.gaps) == (4, [])


def test_a_number_that_is_left_out_is_a_gap() -> None:
    assert seen(1, 2 * ROUND + 1).gaps == [(0, ROUND + 1, 2 * ROUND + 1)]


def test_a_number_that_comes_again_is_a_duplicate() -> None:
    found = seen(1, ROUND + 1, 1)
    assert (found.first_count, found.duplicate_count, found.gaps) == (2, 1, [])


@pytest.mark.parametrize(("count", "missing"), [(0, 0), (1, 0), (2, 1), (ROUND + 1, ROUND), (2 * ROUND, 2 * ROUND - 1)])
def test_what_has_not_come_yet_is_counted(count: int, missing: int) -> None:
    assert seen(1).missing_count(0, count) == missing


def test_calm_begins_again_some_seconds_after_the_repair() -> None:
    is_calm = calm_test([Disturbance("cut", 100.0, 110.0)])
    assert [is_calm(at) for at in (99.0, 100.0, 112.0, 116.0)] == [True, False, False, True]


def test_calm_is_what_no_fault_takes() -> None:
    faults = [Disturbance("cut", 100.0, 110.0), Disturbance("cut", 112.0, 113.0), Disturbance("cut", 590.0, 620.0)]
    is_calm = calm_test(faults)
    counted = sum(is_calm(tick / 10) for tick in range(6000)) / 10
    assert calm_seconds(faults, began_at=0.0, ended_at=600.0) == pytest.approx(counted, abs=0.3)


def readings(rss_mb: float, descriptors: int, *, at: float) -> list[Reading]:
    return [Reading(at + second, rss_mb, descriptors, 9) for second in range(0, 55, 5)]


A_FAULT_A_MINUTE = [Disturbance("cut", 60.0 * minute, 60.0 * minute + 5) for minute in range(1, 60)]
A_SLOW_RECOVERY_A_MINUTE = [Disturbance("cut", 60.0 * minute, 60.0 * minute + 40) for minute in range(1, 60)]


def judged(
    found: list[Reading], late_ms: float, faults: list[Disturbance], *, rate: float = 1.0, repeated_at: float = 62.0
) -> Verdict:
    """Of an hour with an event each second."""
    arrivals = [(float(at), 10.0 if at < 1800 else late_ms) for at in range(3600)]
    span = {"began_at": 0.0, "ended_at": 3600.0}
    return judge(found, arrivals, faults, repeated_at=[repeated_at], **span, wanted_rate=rate)


@pytest.mark.parametrize(
    ("late_mb", "late_descriptors", "late_ms", "rate", "faults", "complaint"),
    [
        (88.0, 20, 10.0, 1.0, A_FAULT_A_MINUTE, None),
        (90.0, 20, 10.0, 1.0, A_FAULT_A_MINUTE, "memory grew"),
        (80.0, 21, 10.0, 1.0, A_FAULT_A_MINUTE, "file descriptors grew"),
        (80.0, 20, 20.0, 1.0, A_FAULT_A_MINUTE, "p99 between faults grew"),
        (80.0, 20, 10.0, 1.1, A_FAULT_A_MINUTE, "events/s came between faults"),
        (80.0, 20, 10.0, 1.0, A_FAULT_A_MINUTE[::2], "only 30 faults"),
        (80.0, 20, 10.0, 1.0, A_SLOW_RECOVERY_A_MINUTE, "it takes long to recover"),
    ],
)
def test_what_does_not_stay_as_it_was_is_said(
    late_mb: float, late_descriptors: int, late_ms: float, rate: float, faults: list[Disturbance], complaint: str | None
) -> None:
    found = [*readings(80.0, 20, at=311), *readings(late_mb, late_descriptors, at=3545)]
    verdict = judged(found, late_ms, faults, rate=rate)
    assert [each for each in verdict.complaints if complaint is None or complaint not in each] == []
    assert bool(verdict.complaints) == (complaint is not None)


def test_what_comes_again_between_faults_is_said() -> None:
    found = [*readings(80.0, 20, at=311), *readings(80.0, 20, at=3545)]
    assert judged(found, 10.0, A_FAULT_A_MINUTE, repeated_at=130.0).complaints == ["1 events came again between faults"]


def test_minutes_without_calm_are_no_minutes_without_a_verdict() -> None:
    """A long recovery around the time by which memory is compared: the next readings count."""
    long = [Disturbance("two brokers killed", 290.0, 420.0), *A_FAULT_A_MINUTE[7:], Disturbance("cut", 3540.0, 3599.0)]
    found = [*readings(80.0, 20, at=430), *readings(80.0, 20, at=3480)]
    assert judged(found, 10.0, long).early_rss_mb == 80.0


def test_the_p99_of_a_minute_is_that_of_its_calm() -> None:
    arrivals = [(1000.0 + second, 900.0 if 60 <= second < 70 else 5.0 + second // 60) for second in range(180)]
    found = calm_p99_by_minute(arrivals, [Disturbance("cut", 1060.0, 1066.0)], began_at=1000.0)
    assert found == {0: 5.0, 1: 6.0, 2: 7.0}


def test_a_plot_has_a_panel_for_each_thing_that_must_not_grow_and_a_line_for_each_fault() -> None:
    book = {
        "began_at": 1000.0,
        "readings": [vars(each) for each in readings(80.0, 20, at=1000.0)],
        "disturbances": [vars(Disturbance("cut", 1010.0, 1011.0)), vars(Disturbance("cut", 1030.0, 1031.0))],
        "p99_ms_by_minute": {"0": 5.0, "1": 7.5},
    }
    drawn = draw(book)
    assert [words in drawn for words in ("memory, MB", "file descriptors", "p99 between faults, ms")] == [True] * 3
    assert drawn.count("<polyline") == 3
    assert drawn.count('class="fault"') == 2 * 3
