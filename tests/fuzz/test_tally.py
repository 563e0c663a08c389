"""What libFuzzer prints becomes the figures of the docs."""

from __future__ import annotations

from tests.fuzz.runner import Budget
from tests.fuzz.tally import Tally, read_tally, table

ENDED = """\
INFO: Running with entropic power schedule (0xFF, 100).
#2\tINITED cov: 12 ft: 12 corp: 1/1b exec/s: 0 rss: 60Mb
#524288\tpulse  cov: 310 ft: 1204 corp: 140/3210b lim: 1024 exec/s: 21000 rss: 70Mb
#1000000\tDONE   cov: 312 ft: 1210 corp: 141/3220b lim: 1024 exec/s: 20833 rss: 71Mb
Done 1000000 runs in 48 second(s)
stat::number_of_executed_units: 1000000
stat::average_exec_per_sec:     20833
stat::new_units_added:          141
"""


def test_the_statistics_at_the_end_are_read() -> None:
    tally = read_tally("wire", ENDED, seconds=48.6)
    assert tally == Tally("wire", 1_000_000, 48.6, 312, 1210, 141)


def test_a_run_that_was_cut_off_counts_what_it_last_said() -> None:
    assert read_tally("wire", ENDED[: ENDED.index("#1000000")], seconds=1).executions == 524_288
    assert read_tally("wire", "Traceback", seconds=1).executions == 0


def test_the_table_adds_up() -> None:
    told = table([Tally("a", 1_500, 2.4, 7, 8, 9, 10, 0), Tally("b", 1_000, 3.0, 7, 8, 9, 5, 1)])
    assert "| a | 1,500 | 2 | 7 | 8 | 9 | 10 | 0 |" in told
    assert told.endswith("| all | 2,500 | 5 | | | | 15 | 1 |")


def test_a_budget_is_what_libfuzzer_is_told() -> None:
    assert list(Budget(seconds=5, seed=3).options()) == ["-max_total_time=5", "-seed=3"]
    assert list(Budget(runs=9).options()) == ["-runs=9", "-seed=0"]
