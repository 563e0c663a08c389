"""Retention beside the stream: when it looks, what it says once, what it counts; nothing of it stops the relay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from cdc_relay.admin.retention import beside
from cdc_relay.admin.retention.beside import RetentionBeside
from cdc_relay.admin.retention.swept import LOT, Swept
from cdc_relay.config import RelayConfig
from cdc_relay.errors import AwayError
from cdc_relay.stats import State, Stats
from cdc_relay.stop import Stop

CONFIG = RelayConfig.model_validate(
    {
        "source": {"dsn": "host=db", "slot": "s", "publication": "p"},
        "sink": "none",
        "outboxes": [{"table": "outbox"}],
    }
)
HASTY = CONFIG.model_copy(update={"retention": CONFIG.retention.model_copy(update={"every_seconds": 0.01})})
Results = list[list[Swept] | Exception]


class FakeSweep:
    """Passes as they are scripted; after the last one the relay is asked to stop."""

    def __init__(self, results: Results, stop: Stop) -> None:
        self._results = results
        self._stop = stop
        self.on_removed: Callable[[str, int], None] = lambda label, count: None
        self.pause: Callable[[float], bool] = lambda seconds: False

    def __call__(self, config: RelayConfig, **hooks: Any) -> FakeSweep:
        self.on_removed, self.pause = hooks["on_removed"], hooks["pause"]
        return self

    def run(self) -> Iterator[Swept]:
        result = self._results.pop(0)
        if not self._results:
            self._stop.request()
        if isinstance(result, Exception):
            raise result
        for swept in result:
            if swept.removed:
                self.on_removed(swept.label, swept.removed)
            yield swept


def run(monkeypatch: pytest.MonkeyPatch, results: Results, state: State = State.STREAMING) -> tuple[Stats, list[Any]]:
    stats, stop = Stats(), Stop()
    stats.state = state
    monkeypatch.setattr(beside, "Sweep", FakeSweep(results, stop))
    retention = RetentionBeside(HASTY, stats=stats, stop=stop)
    with capture_logs() as logs:
        retention.begin()
        thread = retention._thread
        retention.begin()
        assert thread is not None
        assert (retention._thread, thread.daemon) == (thread, True)
        thread.join(30)
        retention.close()
    assert not thread.is_alive()
    return stats, list(logs)


def test_what_was_done_is_said_and_counted_by_table(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Swept("public.outbox", removed=3, made=("m1", "m2"), dropped=("d1",))
    stats, logs = run(monkeypatch, [[first, Swept(LOT, removed=1)], [Swept("public.outbox", removed=2), Swept(LOT)]])
    assert [(each["event"], each["table"], each["removed"]) for each in logs] == [
        ("retention", "public.outbox", 3),
        ("retention", LOT, 1),
        ("retention", "public.outbox", 2),
    ]
    assert stats.upkeep.removed == {"public.outbox": 5, LOT: 1}
    assert (stats.upkeep.made, stats.upkeep.dropped) == ({"public.outbox": 2}, {"public.outbox": 1})
    assert stats.upkeep.ran_at is not None
    assert stats.upkeep.error == ""


def test_counts_are_replaced_never_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that has one in its hands sees no other number, and no other length."""
    stats, sweep = Stats(), FakeSweep([[]], Stop())
    monkeypatch.setattr(beside, "Sweep", sweep)
    RetentionBeside(CONFIG, stats=stats, stop=Stop())
    seen = stats.upkeep.removed
    sweep.on_removed(LOT, 1)
    assert (seen, stats.upkeep.removed) == ({LOT: 0}, {LOT: 1})


def test_every_count_begins_at_zero() -> None:
    stats = Stats()
    by_month = CONFIG.model_copy(update={"retention": CONFIG.retention.model_copy(update={"partitions": True})})
    RetentionBeside(by_month, stats=stats, stop=Stop())
    assert stats.upkeep.removed == {LOT: 0, "public.outbox": 0}
    assert (stats.upkeep.made, stats.upkeep.dropped) == ({"public.outbox": 0}, {"public.outbox": 0})


def test_trouble_is_said_once_until_it_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    bad, worse, good = Swept("t", trouble="no right", remedy="GRANT"), Swept("t", trouble="locked"), Swept("t")
    stats, logs = run(monkeypatch, [[bad], [bad], [worse], [good], [bad]])
    assert [(each["log_level"], each["event"], each["reason"]) for each in logs] == [
        ("warning", "retention_trouble", reason) for reason in ("no right", "locked", "no right")
    ]
    assert logs[0]["remedy"] == "GRANT"
    assert stats.upkeep.error == "t: no right"


def test_what_is_left_alone_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = Swept("t", notes=("partition x is left alone",))
    _, logs = run(monkeypatch, [[odd], [odd]])
    assert [(each["event"], each["reason"]) for each in logs] == [("retention_left_alone", "partition x is left alone")]


@pytest.mark.parametrize("error", [AwayError("gone", remedy="wait"), KeyError("something new")])
def test_a_pass_that_breaks_is_said_and_the_next_one_comes(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    stats, logs = run(monkeypatch, [error, [Swept("t", removed=1)]])
    assert [each["event"] for each in logs] == ["retention_trouble", "retention"]
    assert stats.upkeep.error == ""


def test_an_outage_that_comes_again_is_said_again(monkeypatch: pytest.MonkeyPatch) -> None:
    away = AwayError("gone", remedy="wait")
    _, logs = run(monkeypatch, [away, away, [Swept("t")], away])
    assert [(each["event"], each["reason"]) for each in logs] == [("retention_trouble", "gone")] * 2


def test_a_pass_that_had_nothing_to_do_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    stats, _ = run(monkeypatch, [[]])
    assert (stats.upkeep.ran_at, stats.upkeep.tried_at) == (None, None)


@pytest.mark.parametrize("results", [[Swept("t", trouble="no right")], AwayError("gone")])
def test_a_pass_with_trouble_was_tried_and_not_done(
    monkeypatch: pytest.MonkeyPatch, results: list[Swept] | Exception
) -> None:
    stats, _ = run(monkeypatch, [results])
    assert (stats.upkeep.ran_at, stats.upkeep.tried_at is not None) == (None, True)


def test_a_pass_that_was_cut_short_is_not_done_and_ends_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    stats, sweep = Stats(), FakeSweep([[Swept("t", trouble="no right")], [Swept("t")], [Swept("t")]], Stop())
    stats.state = State.STREAMING
    monkeypatch.setattr(beside, "Sweep", sweep)
    retention = RetentionBeside(CONFIG, stats=stats, stop=Stop())
    retention._pass()
    tell = retention._tell

    def tell_and_lose(swept: Swept) -> None:
        tell(swept)
        lose_the_slot(stats, sweep)

    monkeypatch.setattr(retention, "_tell", tell_and_lose)
    retention._pass()
    assert (stats.upkeep.error, stats.upkeep.ran_at) == ("t: no right", None)
    monkeypatch.setattr(retention, "_tell", tell)
    stats.state = State.STREAMING
    retention._pass()
    assert (stats.upkeep.error, stats.upkeep.ran_at == stats.upkeep.tried_at) == ("", True)


def lose_the_slot(stats: Stats, sweep: FakeSweep) -> None:
    stats.state = State.STANDBY
    assert sweep.pause(0)


@pytest.mark.parametrize("state", [State.STANDBY, State.WAITING, State.RELEASED, State.STOPPING])
def test_a_process_that_does_not_read_the_slot_looks_at_nothing(monkeypatch: pytest.MonkeyPatch, state: State) -> None:
    stats, stop = Stats(), Stop()
    stats.state = state
    sweep = FakeSweep([[]], stop)
    monkeypatch.setattr(beside, "Sweep", sweep)
    retention = RetentionBeside(CONFIG, stats=stats, stop=stop)
    assert sweep.pause(0)
    stats.state = State.STREAMING
    assert not sweep.pause(0)
    stop.request()
    assert sweep.pause(60)
    retention.close()


@pytest.mark.parametrize(
    ("state", "passes"), [(State.STREAMING, 3), (State.HOLDING, 3), (State.STANDBY, 0), (State.RELEASED, 0)]
)
def test_a_pass_begins_only_while_this_process_reads_the_slot(
    monkeypatch: pytest.MonkeyPatch, state: State, passes: int
) -> None:
    """A process that has streamed may have lost the slot to another since."""
    stats, results = Stats(), Results([[] for _ in range(4)])
    stats.state = state
    waits = iter([False, False, False, True])
    monkeypatch.setattr(beside, "Sweep", FakeSweep(results, Stop()))
    monkeypatch.setattr(RetentionBeside, "_wait", lambda self, seconds: next(waits))
    retention = RetentionBeside(CONFIG, stats=stats, stop=Stop())
    retention.begin()
    assert retention._thread is not None
    retention._thread.join(30)
    assert not retention._thread.is_alive()
    assert 4 - len(results) == passes
