"""`cdc-relay demo`: one line of JSON and the exit code that goes with it."""

from __future__ import annotations

import json
from dataclasses import replace

import click.testing
import pytest

from cdc_relay.cli import demo as command
from cdc_relay.demo.demo import DemoOptions, Outcome
from cdc_relay.demo.display import Display
from cdc_relay.demo.progress import Progress
from cdc_relay.demo.tally import Summary

GOOD = Summary(
    committed=5,
    delivered=5,
    rolled_back=2,
    duplicates=1,
    missing=0,
    unexpected=0,
    per_second=100.0,
    latency_p50_ms=2.5,
    latency_p99_ms=9.0,
)


def invoke(monkeypatch: pytest.MonkeyPatch, outcome: Outcome, *args: str) -> click.testing.Result:
    def run_demo(options: DemoOptions, display: Display) -> Outcome:
        return outcome

    monkeypatch.setattr(command, "run_demo", run_demo)
    return click.testing.CliRunner().invoke(command.demo_command, args)


def test_json_is_one_line_with_every_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    result = invoke(monkeypatch, Outcome(GOOD, 5), "--events", "5", "--json")
    assert result.exit_code == 0
    assert result.stdout.count("\n") == 1
    assert json.loads(result.stdout) == {
        "committed": 5,
        "delivered": 5,
        "rolled_back": 2,
        "duplicates": 1,
        "missing": 0,
        "unexpected": 0,
        "per_second": 100.0,
        "latency_p50_ms": 2.5,
        "latency_p99_ms": 9.0,
    }


@pytest.mark.parametrize(
    "faulty", [replace(GOOD, delivered=4, missing=1), replace(GOOD, unexpected=1), replace(GOOD, committed=6)]
)
def test_a_missing_or_unexpected_event_exits_with_1(monkeypatch: pytest.MonkeyPatch, faulty: Summary) -> None:
    assert invoke(monkeypatch, Outcome(faulty, faulty.delivered), "--json").exit_code == 1


def test_stopped_before_all_events_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    result = invoke(monkeypatch, Outcome(GOOD, 10, "stopped before all events were delivered"), "--json")
    assert result.exit_code == 1
    assert "stopped before all events" in result.stderr


def test_stopped_without_a_target_exits_with_0(monkeypatch: pytest.MonkeyPatch) -> None:
    assert invoke(monkeypatch, Outcome(GOOD, None)).exit_code == 0


@pytest.mark.parametrize("args", [("--events", "0"), ("--events", "-1"), ("--events", "x"), ("--rate", "0")])
def test_nonsense_is_a_usage_error(monkeypatch: pytest.MonkeyPatch, args: tuple[str, str]) -> None:
    assert invoke(monkeypatch, Outcome(GOOD, None), *args).exit_code == 2


def test_the_live_view_is_moderate_and_a_count_is_not() -> None:
    assert DemoOptions().writing_rate == 200
    assert DemoOptions(event_count=5).writing_rate is None
    assert DemoOptions(event_count=5, rate=50).writing_rate == DemoOptions(rate=50).writing_rate == 50


def test_progress_stalls_after_its_patience_and_not_before() -> None:
    progress = Progress(0.0, patience_seconds=60)
    assert not progress.has_stalled(0, 60.0)
    assert progress.has_stalled(0, 60.1)
    assert not progress.has_stalled(1, 61.0)
    assert not progress.has_stalled(1, 121.0)
    assert progress.has_stalled(1, 121.1)
