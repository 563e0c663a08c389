"""Before a session: what is away is waited for, what is wrong is refused, and the lot is taken over."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from cdc_relay import patience
from cdc_relay import relay as relay_module
from cdc_relay.errors import (
    AwayError,
    DecodeError,
    DrainError,
    RefusedError,
    RelayError,
    SinkError,
    SlotInUseError,
    SourceError,
)
from cdc_relay.sinks.sink import Reports
from cdc_relay.stats import State
from tests.unit.fakes import FakeCheckup
from tests.unit.relay_rig import END, OPENING, STOPPING, FakeTime, Rig


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTime]:
    fake = FakeTime()
    monkeypatch.setattr(relay_module, "time", fake)
    monkeypatch.setattr(patience, "time", fake)
    yield fake


# --- getting there


def test_postgres_is_looked_at_before_the_broker_and_the_slot_is_taken_last(time: FakeTime) -> None:
    assert Rig(time).run() == OPENING + STOPPING + END


def test_what_is_away_is_waited_for_with_backoff(time: FakeTime) -> None:
    rig = Rig(time)
    rig.source.preflights.extend(AwayError(f"Postgres is not reachable: {number}") for number in range(10))
    waits: list[float] = []
    before = rig.source.preflight

    def preflight() -> FakeCheckup:
        waits.append(rig.waits)
        return before()

    rig.source.preflight = preflight  # type: ignore[method-assign]  # a spy around the fake
    rig.run()
    pauses = [later - earlier for earlier, later in pairwise(waits)]
    assert pauses == sorted(pauses)
    assert pauses[0] == pytest.approx(0.1, abs=0.11)
    assert pauses[-1] == pytest.approx(5.0, abs=0.11)
    assert rig.states[0] == (State.WAITING, "Postgres is not reachable: 0")
    assert rig.calls.count("run") == 1


def test_a_slot_in_use_is_stood_by_for(time: FakeTime) -> None:
    rig = Rig(time)
    rig.source.opens.extend(SlotInUseError("slot orders is in use: PID 7") for _ in range(5))
    rig.run()
    assert rig.states[:2] == [(State.STANDBY, "slot orders is in use: PID 7"), (State.STREAMING, "")]
    assert rig.waits == pytest.approx(5.0, abs=0.6)  # a try each second, however long: take over soon


def test_a_broker_away_is_waited_for_with_its_own_complaint(time: FakeTime) -> None:
    rig = Rig(time)
    rig.sink.error = "Connect to 10.0.0.1 failed: Connection refused"
    rig.sink.probes.append(AwayError("Kafka does not answer: timed out", remedy="check the brokers"))
    rig.run()
    assert rig.states[0] == (
        State.WAITING,
        "Kafka does not answer: timed out (Connect to 10.0.0.1 failed: Connection refused)",
    )
    assert rig.calls[:4] == ["preflight", "probe", "preflight", "probe"]  # the slot is not taken meanwhile
    assert rig.stats.sink_error == ""


def test_a_line_that_breaks_while_it_opens_is_tried_again(time: FakeTime) -> None:
    rig = Rig(time)
    rig.source.opens.append(SourceError("the connection to Postgres broke"))
    assert rig.run()[:8] == ["preflight", "probe", "open lot", "open"] * 2


@pytest.mark.parametrize("error", [RefusedError("no slot"), DecodeError("garbage"), DrainError("?")])
def test_what_is_wrong_is_not_waited_for(time: FakeTime, error: RelayError) -> None:
    rig = Rig(time)
    rig.source.preflights.append(error)
    with pytest.raises(type(error)) as raised:
        rig.run()
    assert raised.value is error
    assert rig.waits == 0


@pytest.mark.parametrize(
    "error",
    [AwayError("Postgres is not reachable"), SlotInUseError("slot in use"), SourceError("the line broke")],
)
def test_without_waiting_whatever_is_away_ends_it_with_three(time: FakeTime, error: RelayError) -> None:
    rig = Rig(time, wait=False)
    rig.source.opens.append(error)
    with pytest.raises(AwayError, match=error.message) as raised:
        rig.run()
    assert raised.value.exit_code == 3
    assert raised.value.remedy
    assert rig.waits == 0


def test_without_waiting_an_unreachable_broker_ends_it_with_its_remedy(time: FakeTime) -> None:
    rig = Rig(time, wait=False)
    rig.sink.probes.append(AwayError("Kafka does not answer", remedy="check the brokers"))
    with pytest.raises(AwayError, match="Kafka does not answer") as raised:
        rig.run()
    assert raised.value.remedy == "check the brokers"
    assert "open" not in rig.calls


def test_not_waiting_is_about_the_start_only(time: FakeTime) -> None:
    rig = Rig(time, SourceError("the line broke"), wait=False)
    before = rig.script.on_run

    def away_afterwards() -> None:
        before()
        rig.source.preflights.extend([AwayError("restarting")] * 3 if len(rig.source.streams) == 1 else [])

    rig.script.on_run = away_afterwards
    assert rig.run().count("run") == 2


def test_the_loop_is_seen_alive_while_the_helper_is_stuck(time: FakeTime) -> None:
    rig = Rig(time)
    rig.helper.stuck = True
    turns = 0
    poll = rig.sink.poll

    def count(timeout_seconds: float) -> Reports:
        nonlocal turns
        turns += 1
        time.now += 1
        if turns == 3:
            rig.stop.request()
        return poll(timeout_seconds)

    rig.sink.poll = count  # type: ignore[method-assign]  # for this test
    rig.run()
    assert rig.stats.last_turn_at == 1002.0
    assert rig.calls == []


def test_the_broker_s_complaint_is_seen_while_waiting(time: FakeTime) -> None:
    rig = Rig(time)
    rig.sink.error = "SASL authentication failed"
    rig.sink.probes.append(AwayError("Kafka does not answer"))
    seen: list[str] = []
    time.on_sleep = lambda: seen.append(rig.stats.sink_error)
    rig.run()
    assert "SASL authentication failed" in seen


def test_a_wish_to_stop_ends_the_waiting(time: FakeTime) -> None:
    rig = Rig(time)
    rig.source.preflights.extend([AwayError("away")] * 1000)
    time.on_sleep = lambda: rig.stop.request() if rig.waits > 60 else None
    rig.run()
    assert 60 < rig.waits < 61
    assert "run" not in rig.calls


def test_stopped_before_it_began_it_does_nothing(time: FakeTime) -> None:
    rig = Rig(time)
    rig.stop.request()
    assert rig.run() == []


@pytest.mark.parametrize("job", ["preflight", "probe", "open lot", "open", "take over 100", "is free"])
def test_a_producer_that_breaks_while_we_wait_is_replaced(time: FakeTime, job: str) -> None:
    """Whatever is waited for: the producer is polled meanwhile."""
    rig = Rig(time)
    if job == "is free":
        rig.source.opens.append(SlotInUseError("slot orders is in use"))
    rig.sink.break_at(job, SinkError("the Kafka producer broke"))
    calls = rig.run()
    assert "reset" in calls[: calls.index("run")]
    assert (State.WAITING, "the Kafka producer broke") in rig.states


# --- the lot


def test_the_lot_is_taken_over_only_by_the_one_who_reads_the_slot(time: FakeTime) -> None:
    rig = Rig(time)
    rig.source.opens.extend(SlotInUseError("slot orders is in use") for _ in range(3))
    calls = rig.run()
    assert calls.index("take over 100") > [place for place, call in enumerate(calls) if call == "open"][-1]


def test_a_standby_that_is_stopped_ends_nobody_s_run(time: FakeTime) -> None:
    rig = Rig(time)
    rig.source.opens.extend(SlotInUseError("slot orders is in use") for _ in range(100))
    time.on_sleep = lambda: rig.stop.request() if rig.waits > 5 else None
    rig.run()
    assert "end run" not in rig.calls


def test_a_lot_that_is_away_is_waited_for_with_the_slot_free(time: FakeTime) -> None:
    rig = Rig(time)
    rig.lot.opens.append(AwayError("the lot is not reachable"))
    assert rig.run()[:5] == ["preflight", "probe", "open lot", "preflight", "probe"]
    assert (State.WAITING, "the lot is not reachable") in rig.states


def test_a_lot_without_a_table_is_refused(time: FakeTime) -> None:
    rig = Rig(time)
    rig.lot.opens.append(RefusedError("no table", remedy="cdc-relay setup"))
    with pytest.raises(RefusedError, match="no table"):
        rig.run()
    assert "open" not in rig.calls


def test_a_lot_that_cannot_be_taken_over_gives_the_slot_free(time: FakeTime) -> None:
    rig = Rig(time)
    rig.lot.takes.append(AwayError("the lot does not answer"))
    rig.run()
    assert [stream.closed for stream in rig.source.streams] == [True, True]
    assert rig.calls.count("run") == 1


def test_a_take_over_that_fails_for_good_closes_the_line(time: FakeTime) -> None:
    rig = Rig(time)
    rig.lot.takes.append(RefusedError("no right"))
    with pytest.raises(RefusedError):
        rig.run()
    assert [stream.closed for stream in rig.source.streams] == [True]


def test_the_lot_is_taken_over_for_each_session(time: FakeTime) -> None:
    rig = Rig(time, SourceError("cut"))
    rig.run()
    assert rig.calls.count("take over 100") == 2


def test_what_can_never_come_again_is_not_waited_for(time: FakeTime) -> None:
    """After a failover the lot may have records beyond the end of the server's WAL."""
    rig = Rig(time)
    near, far = ("public.outbox", 500, 0, 1), ("public.outbox", 901, 0, 1)
    rig.lot.identities = frozenset([near, far])
    rig.run()
    assert rig.inventories[0].identities == {near}
