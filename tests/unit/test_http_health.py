"""The rules of the probes, on plain values."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdc_relay.http.health import Snapshot, judge_live, judge_ready, take_snapshot
from cdc_relay.stats import State, Stats

NOW = 1_000.0
FLOWING = Snapshot(
    state=State.STREAMING,
    state_reason="",
    state_since=NOW - 500,
    last_turn_at=NOW - 0.1,
    last_settled_at=NOW - 0.2,
    open_record_count=7,
    open_bytes=700,
    published_count=42,
    slot_lag_bytes=1234,
    sink_error="",
)


def in_state(state: State, **changes: object) -> Snapshot:
    return replace(FLOWING, state=state, **changes)  # type: ignore[arg-type]  # names are checked by replace()


def test_live_while_the_loop_turns() -> None:
    assert judge_live(replace(FLOWING, last_turn_at=NOW - 29.9), NOW).ok


def test_not_live_after_30_seconds_without_a_turn() -> None:
    health = judge_live(replace(FLOWING, last_turn_at=NOW - 30), NOW)
    assert not health.ok
    assert health.since_seconds == 30
    assert "not turned for 30 s" in health.reason


@pytest.mark.parametrize("state", list(State))
def test_live_in_every_state_while_the_loop_turns(state: State) -> None:
    assert judge_live(in_state(state), NOW).ok


@pytest.mark.parametrize("state", [State.STARTING, State.WAITING, State.RELEASED, State.STOPPING])
def test_not_ready_while_nothing_is_read(state: State) -> None:
    health = judge_ready(in_state(state, open_record_count=0), NOW)
    assert not health.ok
    assert health.reason == f"the relay is {state.value}"
    assert health.since_seconds == 500


def test_not_ready_tells_the_reason_of_the_state() -> None:
    seen = in_state(State.WAITING, state_reason="the broker kafka:9092 does not answer")
    assert judge_ready(seen, NOW).reason == "the broker kafka:9092 does not answer"


def test_standby_is_ready_and_says_so() -> None:
    health = judge_ready(in_state(State.STANDBY, last_settled_at=NOW - 900), NOW)
    assert (health.ok, health.role) == (True, "standby")


@pytest.mark.parametrize("state", [State.STREAMING, State.HOLDING])
def test_ready_until_60_seconds_without_a_settled_record(state: State) -> None:
    assert judge_ready(in_state(state, last_settled_at=NOW - 59.9), NOW).ok


@pytest.mark.parametrize("state", [State.STREAMING, State.HOLDING])
def test_not_ready_after_60_seconds_without_a_settled_record(state: State) -> None:
    health = judge_ready(in_state(state, last_settled_at=NOW - 60, sink_error="brokers are down"), NOW)
    assert not health.ok
    assert health.since_seconds == 60
    assert "7 records are open and none was settled for 60 s" in health.reason
    assert health.reason.endswith("brokers are down")


def test_an_idle_relay_stays_ready() -> None:
    assert judge_ready(replace(FLOWING, open_record_count=0, last_settled_at=NOW - 86_400), NOW).ok


def test_every_state_has_a_role() -> None:
    roles = {state: judge_ready(in_state(state), NOW).role for state in State}
    assert {state for state, role in roles.items() if role == "reader"} == {
        State.STREAMING,
        State.HOLDING,
        State.STOPPING,
    }
    assert {state for state, role in roles.items() if role == "standby"} == {State.STANDBY}


def test_body_has_the_fields_that_probes_read() -> None:
    assert judge_ready(FLOWING, NOW).as_json() == {
        "status": "ok",
        "role": "reader",
        "state": "streaming",
        "reason": "",
        "since_seconds": 500.0,
        "published_records": 42,
        "open_records": 7,
        "open_bytes": 700,
        "slot_lag_bytes": 1234,
        "sink_error": "",
        "closed_topics": [],
        "dead_records": None,
    }


def test_snapshot_copies_what_stats_say() -> None:
    stats = Stats()
    stats.enter(State.HOLDING, "full window")
    stats.open_record_count, stats.open_bytes, stats.published_count = 3, 300, 9
    stats.slot_lag_bytes, stats.sink_error = 5, "timed out"
    seen = take_snapshot(stats)
    assert (seen.state, seen.state_reason, seen.state_since) == (State.HOLDING, "full window", stats.state_since)
    assert (seen.open_record_count, seen.open_bytes, seen.published_count) == (3, 300, 9)
    assert (seen.slot_lag_bytes, seen.sink_error) == (5, "timed out")
    assert (seen.last_turn_at, seen.last_settled_at) == (stats.last_turn_at, stats.last_settled_at)
