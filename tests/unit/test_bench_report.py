"""The benchmark's book, its medians, and what it says of the goals."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.goals import GOALS, Goal
from tests.bench.latency import Latency, pace_of
from tests.bench.measure import median_rates
from tests.bench.measurement import Book, Measurement, load
from tests.bench.report import render
from tests.bench.workloads import WORKLOADS, find_workload

FULL_ROWS = find_workload("default").rows


def hot(peer: str, *rates: float, part: str = "hot", rows: int = FULL_ROWS) -> list[Measurement]:
    values = [{"events_per_s": rate, "rows": rows} for rate in rates]
    return [Measurement(part, "default", peer, number, each) for number, each in enumerate(values)]


def book(*entries: list[Measurement]) -> Book:
    return Book(entries=[entry for each in entries for entry in each])


def find_goal(words: str) -> Goal:
    [goal] = [goal for goal in GOALS if goal.what.startswith(words)]
    return goal


DRAIN = find_goal("drain, 10 rows")


def test_a_round_that_went_wild_does_not_move_the_median() -> None:
    found = book(hot("relay", 100, 90, 1000), hot("debezium-tuned", 50, 50, 50))
    reached = DRAIN.reached(found)
    assert reached is not None
    assert reached.figure == 2.0
    assert reached.goal


def test_between_floor_and_goal_is_the_floor() -> None:
    reached = DRAIN.reached(book(hot("relay", *[140] * 3), hot("debezium-tuned", *[100] * 3)))
    assert reached is not None
    assert (reached.floor, reached.goal, str(reached)) == (True, False, "floor")


def test_below_the_floor_is_said() -> None:
    found = book(hot("relay", *[70] * 3), hot("debezium-tuned", *[100] * 3))
    assert str(DRAIN.reached(found)) == "not reached"


def test_a_goal_without_a_floor_is_reached_or_not() -> None:
    raw = find_goal("the same, of the raw reader")
    for rate, verdict in ((95, "goal"), (23, "not reached")):
        assert str(raw.reached(book(hot("relay", *[rate] * 3), hot("raw-napping", *[100] * 3)))) == verdict


def test_where_less_is_better_less_reaches_the_goal() -> None:
    first = find_goal("process start to first record")
    for seconds, verdict in ((0.5, "goal"), (0.9, "floor"), (1.1, "not reached")):
        values = {"first_record_s": seconds}
        rounds = [Measurement("start", "default", "relay", number, values) for number in range(3)]
        assert str(first.reached(book(rounds))) == verdict


@pytest.mark.parametrize("part", ["hot", "cold"])
def test_a_shortened_backlog_has_not_measured_a_goal(part: str) -> None:
    goal = DRAIN if part == "hot" else find_goal("drain of a cold backlog")
    for rows, is_measured in ((FULL_ROWS, True), (FULL_ROWS - 1, False)):
        found = book(hot("relay", 9, 9, 9, part=part), hot("debezium-tuned", 1, 1, 1, part=part, rows=rows))
        assert (goal.reached(found) is not None) == is_measured


def test_two_rounds_have_not_measured_a_goal() -> None:
    assert DRAIN.reached(book(hot("relay", 9, 9), hot("debezium-tuned", 1, 1, 1))) is None


def test_what_has_no_backlog_needs_the_rounds_alone() -> None:
    idle = [Measurement("idle", "default", "relay", number, {"cpu_percent": 0.2}) for number in range(3)]
    goal = find_goal("CPU when idle")
    assert str(goal.reached(book(idle))) == "goal"
    assert goal.reached(book(idle[:2])) is None


def peaks(*, rows_of_the_last: int) -> Book:
    loads = ["default", "single", "tiny", "kilobyte", "transaction-10k", "transaction-1m"]
    values = [{"rss_peak_mb": 70.0 + number, "rows": 300_000} for number in range(len(loads))]
    values[-1]["rows"] = rows_of_the_last
    rounds = [(load, number, each) for load, each in zip(loads, values, strict=True) for number in range(3)]
    return book([Measurement("hot", load, "relay", number, each) for load, number, each in rounds])


def test_the_largest_memory_of_all_workloads_counts() -> None:
    reached = find_goal("peak RSS").reached(peaks(rows_of_the_last=1_000_000))
    assert reached is not None
    assert (reached.figure, reached.goal) == (75.0, True)


def test_a_shortened_workload_proves_nothing_about_memory() -> None:
    assert find_goal("peak RSS").reached(peaks(rows_of_the_last=50_000)) is None


def test_a_goal_without_its_measurement_is_not_reached_by_silence() -> None:
    assert DRAIN.reached(book(hot("relay", 70))) is None
    assert "not measured" in render(book(hot("relay", 70)))


def test_a_book_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    written = Book(tmp_path / "run.json", {"cores": 2})
    for entry in hot("relay", 70_000, 80_000):
        written.add(entry)
    other = Book(tmp_path / "other.json")
    other.add(hot("debezium-tuned", 50_000)[0])
    read = load([tmp_path / "run.json", tmp_path / "other.json"])
    assert read.entries == written.entries + other.entries
    assert read.facts == {"cores": 2}


def test_one_file_does_not_say_of_another_that_its_relay_was_compiled(tmp_path: Path) -> None:
    for name, build in (("one", "pure Python"), ("two", "compiled")):
        Book(tmp_path / name, {"relay": build}).save()
    assert load([tmp_path / "one", tmp_path / "two"]).facts["relay"] == "compiled and pure Python"
    assert "relay: pure Python" in render(load([tmp_path / "one"]))


def test_the_report_shows_medians_ratios_and_rounds() -> None:
    shown = render(book(hot("relay", 70_000, 80_000, 75_000), hot("debezium-tuned", 50_000)))
    assert "| relay | 75,000 |" in shown
    assert "| 1.50 | 70,000 / 80,000 / 75,000 |" in shown


def test_a_round_with_duplicates_is_marked() -> None:
    values = {"events_per_s": 70_000.0, "duplicates": 1200}
    assert "| 70,000 (1,200 twice) |" in render(book([Measurement("hot", "default", "relay", 0, values)]))


def test_workloads_have_names_of_their_own() -> None:
    assert len({workload.name for workload in WORKLOADS}) == len(WORKLOADS)
    assert find_workload("tls").tls


def test_the_maximum_rate_is_a_median_by_peer() -> None:
    rounds = [{"relay": 70.0, "debezium-tuned": 10.0}, {"relay": 10.0, "debezium-tuned": 30.0}]
    assert median_rates([*rounds, {"relay": 80.0, "debezium-tuned": 40.0}]) == {"relay": 70.0, "debezium-tuned": 30.0}
    assert median_rates([]) == {}


def test_a_pace_makes_its_rate_and_keeps_a_key_with_one_writer() -> None:
    for rate in (1000, 5000, 33_300):
        pace = pace_of(rate)
        assert pace.row_count(10) == 10 * rate
        assert find_workload("default").key_count % pace.writers == 0


def latencies(peer: str, p99_ms: float, *written: float) -> list[Measurement]:
    values = [{"p50_ms": 1.0, "p99_ms": p99_ms, "rate_per_s": 5000, "written_per_s": each} for each in written]
    return [Measurement("latency", "5000", peer, number, each) for number, each in enumerate(values)]


AT_5000 = find_goal("commit to consumer at 5,000/s")


def test_a_round_whose_writers_fell_behind_is_marked_and_left_out() -> None:
    slow = latencies("relay", 1.0, 4800)  # quicker than it is, with less to do
    found = book(slow, latencies("relay", 8.0, 5000, 4990, 4950), latencies("debezium-tuned", 16.0, *[5000] * 3))
    reached = AT_5000.reached(found)
    assert reached is not None
    assert reached.figure == 0.5
    shown = render(found)
    assert "| relay | 1.0 | 8.0 |" in shown
    assert "| 1.0 (writers behind) / 1.0 / 1.0 / 1.0 |" in shown


def test_a_goal_whose_rounds_all_fell_behind_is_not_measured() -> None:
    found = book(latencies("relay", 8.0, *[4800] * 3), latencies("debezium-tuned", 16.0, *[5000] * 3))
    assert AT_5000.reached(found) is None
    assert "| relay |  |  |" in render(found)


def test_what_wants_no_rate_cannot_fall_behind() -> None:
    assert all(entry.counts for entry in hot("relay", 1.0))


def test_a_round_says_that_its_writers_fell_behind() -> None:
    for written, words in ((4990.0, "0 % CPU"), (4000.0, "0 % CPU; does not count, the writers made 4,000/s")):
        assert str(Latency("relay", 5000, 1, 1, 1, 1, 0, written, 0)).endswith(words)
