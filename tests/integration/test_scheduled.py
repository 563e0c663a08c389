"""Scheduled events: on time and in the order of their times, after restarts and kills too, and never once cancelled."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.fix_relay import MakeRelay, Pipeline, RelayProcess
from tests.fixtures.numbered import Numbered, dlq
from tests.fixtures.process import wait_until

pytestmark = pytest.mark.kafka

OUTBOXES = [{"table": "public.outbox", "columns": {"scheduled_at": "scheduled_at"}}]
LATENESS = (
    "SELECT extract(epoch FROM published_at - scheduled_at)::float8 FROM cdc_relay.parked_records"
    " WHERE status = 'published' AND reason = 'schedule' ORDER BY scheduled_at"
)
CLAIMED = ["claim_due.before", "claim_due.after"]
PROMPT_SECONDS = 5.0  # on a busy machine; the benchmark shows what it is on an idle one


@pytest.fixture
def events(pipeline: Pipeline) -> Numbered:
    pipeline.database.execute("ALTER TABLE outbox ADD scheduled_at timestamptz")
    return Numbered(pipeline, pipeline.kafka)


def start(events: Numbered, *, ready: bool = True, **config: Any) -> RelayProcess:
    return events.pipeline.start_relay(ready=ready, outboxes=OUTBOXES, **config)


def within(seconds: float) -> str:
    return f"now() + {seconds} * interval '1 s'"


def numbers(events: Numbered) -> list[int]:
    return [number for _, number in events.deliveries()]


def lateness(events: Numbered) -> list[float]:
    found = [float(seconds) for (seconds,) in events.sql(LATENESS)]
    print(f"late by {', '.join(f'{seconds * 1000:.0f} ms' for seconds in found)}")
    return found


def test_scheduled_events_go_out_on_time_and_in_the_order_of_their_times(events: Numbered) -> None:
    start(events)
    for number in (5, 1, 4, 2, 3):
        events.commit([("k", number)], due=within(1 + number))
    events.commit([("k", 0)])
    events.wait_until_delivered()
    events.wait_for_lot(published=5)
    assert numbers(events) == [0, 1, 2, 3, 4, 5]
    late = lateness(events)
    assert min(late) >= 0
    assert max(late) < PROMPT_SECONDS


def test_one_transaction_may_have_many_times(events: Numbered) -> None:
    start(events)
    with events.pipeline.database.connect(autocommit=False) as conn:
        for number in reversed(range(100)):
            conn.execute(
                "INSERT INTO outbox VALUES (gen_random_uuid(), %s, 'k', 'T', %s, now() + %s * interval '1 ms')",
                [events.aggregate_type, json.dumps({"n": number}), 3_000 + number * 30],
            )
    events.put = {"k": list(range(100))}
    events.wait_until_delivered()
    events.wait_for_lot(published=100)
    assert numbers(events) == list(range(100))
    assert max(lateness(events)) < PROMPT_SECONDS


def test_a_time_that_has_passed_is_no_schedule(events: Numbered) -> None:
    start(events)
    events.commit([("k", 0)], due=within(-1))
    events.commit([("k", 1)], due=within(-86_400))
    events.commit([("k", 2)], due="NULL")
    events.wait_until_delivered()
    assert (numbers(events), events.lot()) == ([0, 1, 2], {})


def test_a_time_that_no_timestamptz_can_be_is_dead_and_stops_nobody(events: Numbered) -> None:
    """Of a text column: the lot would refuse it again and again, and with it all that is parked later."""
    events.sql("ALTER TABLE outbox ALTER scheduled_at TYPE text")
    start(events)
    for number, due in enumerate(["2099-01-01 00:00:00+16", "2099-01-01T00:00:00+05:60", "294276-12-31 23:59:59-01"]):
        events.commit([("k", number)], due=f"'{due}'")
    events.commit([("k", 3)])
    events.wait_until_delivered(without=[0, 1, 2])
    events.wait_for_lot(dead=3)


@pytest.mark.parametrize("is_killed", [False, True], ids=["stopped", "killed"])
def test_what_became_due_while_the_relay_was_down_goes_out_at_once(events: Numbered, is_killed: bool) -> None:
    relay = start(events)
    events.commit([("k", 2)], due=within(3))
    events.commit([("k", 1)], due=within(2))
    events.commit([("k", 3)], due=within(20))
    events.wait_for_lot(scheduled=3)
    if is_killed:
        relay.kill()
    else:
        assert relay.stop() == 0
    due = "SELECT count(*) FROM cdc_relay.parked_records WHERE scheduled_at < clock_timestamp()"
    wait_until(lambda: events.sql(due) == [(2,)], timeout=30, what="two are due")
    assert numbers(events) == []
    relay.start()
    events.wait_until_delivered(without={3}, timeout=15)
    assert numbers(events) == [1, 2]
    events.wait_until_delivered()
    assert numbers(events) == [1, 2, 3]
    assert events.sql("SELECT published_at >= scheduled_at FROM cdc_relay.parked_records") == [(True,)] * 3


def test_what_was_scheduled_before_the_relay_ran_is_kept_for_its_time(events: Numbered) -> None:
    events.commit([("k", 1)], due=within(8))
    events.commit([("k", 0)])
    start(events)
    events.wait_until_delivered(without={1})
    events.wait_for_lot(scheduled=1)
    assert numbers(events) == [0]
    events.wait_until_delivered()
    assert lateness(events)[0] >= 0


@pytest.mark.parametrize("by_hand", [False, True], ids=["by command", "by SQL"])
def test_a_cancelled_event_never_goes_out(events: Numbered, by_hand: bool) -> None:
    relay = start(events)
    events.commit([("k", 1)], due=within(8))
    events.commit([("k", 2)], due=within(9))
    events.wait_for_lot(scheduled=2)
    [(number, _), _] = events.sql("SELECT id, scheduled_at FROM cdc_relay.parked_records ORDER BY scheduled_at")
    if by_hand:
        events.tell("UPDATE cdc_relay.parked_records SET status = 'cancelled' WHERE id = %s", number)
    else:
        dlq(relay, "cancel", number, "--yes")
    events.wait_until_delivered(without={1})
    events.wait_for_lot(published=1, cancelled=1)
    assert relay.stop() == 0
    relay.start().wait_ready()
    events.commit([("k", 3)])
    events.wait_until_delivered(without={1})
    assert numbers(events) == [2, 3]


@pytest.mark.real_kafka
def test_a_scheduled_event_never_holds_its_key(events: Numbered) -> None:
    start(events, delivery={"ordering": "strict", "on_dead": "hold"})
    events.commit([("k", 1)], due=within(6))
    events.commit([("k", 2), ("k", 3)])
    events.wait_until_delivered(without={1})
    events.wait_for_lot(scheduled=1)
    assert numbers(events) == [2, 3]
    events.wait_until_delivered()
    assert numbers(events) == [2, 3, 1]


@pytest.mark.real_kafka
def test_a_scheduled_event_that_fails_does_not_hold_its_key_either(events: Numbered) -> None:
    retry = {"base": "2s", "max": "2s", "jitter": 0, "max_retries": 2}
    start(events, delivery={"ordering": "strict", "on_dead": "hold", "retry": retry})
    events.kafka.configure_topic(events.topic, max_message_bytes="20000")  # type: ignore[attr-defined]  # a real broker has it
    events.commit([("k", 1)], bad={1}, due=within(1))
    wait_until(lambda: events.lot() == {"retrying": 1}, timeout=60, what="it has failed")
    events.commit([("k", 2)])
    events.wait_until_delivered(without={1})
    events.wait_for_lot(dead=1)
    events.commit([("k", 3)])
    events.wait_until_delivered(without={1})
    assert numbers(events) == [2, 3]


@pytest.mark.real_kafka
@pytest.mark.parametrize("step", ["park.after", *CLAIMED, "publish.before", "publish.after", "acked", "mark.after"])
def test_a_kill_around_its_publication_loses_nothing(
    events: Numbered, make_relay: MakeRelay, tmp_path: Path, step: str
) -> None:
    trap = tmp_path / "trap"
    trap.touch()
    order = json.dumps({"step": step, "nth": 1, "trap": str(trap)})
    relay = make_relay(events.pipeline.config(outboxes=OUTBOXES), env={"SABOTAGE": order})
    for number in range(5):
        events.commit([("k", number)], due=within(8))  # it has to be read before that, on a busy machine too

    wait_until(lambda: not trap.exists(), timeout=60, what="the relay comes to that step")
    assert relay.wait() == -signal.SIGKILL
    relay.start()
    events.wait_until_delivered()
    events.wait_for_lot(published=5)
    assert len(events.duplicates()) <= (0 if step in ("park.after", *CLAIMED) else 5)
