"""kill -9 at every step on the way into the lot and out of it: nothing is lost, nothing has two rows, and what comes
twice is what was out: one record of a strict key, one claimed batch otherwise."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.fix_relay import MakePipeline, MakeRelay, RelayProcess
from tests.fixtures.kafka_broker import KafkaBroker
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.numbered import NARROW, Numbered
from tests.fixtures.process import wait_until

pytestmark = pytest.mark.real_kafka

PATIENT = {"base": "10m", "max": "10m", "jitter": 0, "max_retries": 5}
QUICK = {"base": "1s", "max": "1s", "jitter": 0, "max_retries": 1000}
KEYS = [f"k{number}" for number in range(4)]
BAD = {4, 5, 8, 9, 12, 13}  # of two keys, three each
BATCH = len(BAD)

CLAIMS = ["claim_due.before", "claim_due.after"]
OUT = ["publish.before", "publish.after", "acked", "mark.before", "mark.after"]


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    jars = find_jars()
    assert isinstance(jars, Path)  # the mark real_kafka has seen to it
    own = KafkaBroker(jars, {"auto.create.topics.enable": False})
    try:
        own.start()
        yield own
    finally:
        own.destroy()


class Ground:
    """A pipeline with a relay that kills itself once at a step."""

    def __init__(self, events: Numbered, make_relay: MakeRelay, trap: Path) -> None:
        self.events = events
        self.trap = trap
        self._make_relay = make_relay

    def start(self, step: str, *, nth: int = 1, **delivery: Any) -> RelayProcess:
        order = json.dumps({"step": step, "nth": nth, "trap": str(self.trap)})
        return self._make_relay(self.events.pipeline.config(delivery=delivery), env={"SABOTAGE": order})

    def fall(self, relay: RelayProcess) -> None:
        """Until the relay has come to that step, and is dead."""
        wait_until(lambda: not self.trap.exists(), timeout=60, what="the relay comes to that step")
        assert relay.wait() == -signal.SIGKILL

    def survive(self, relay: RelayProcess) -> None:
        """Until all is delivered and written down, with no other death."""
        wait_until(self._is_over, timeout=60, what="all is delivered and written down")
        assert relay.is_running
        assert self.parked_twice() == []

    def _is_over(self) -> bool:
        return set(self.events.lot()) <= {"published"} and not self.events.missing()

    def parked_twice(self) -> list[tuple[Any, ...]]:
        return self.events.sql(
            "SELECT event_id, count(*) FROM cdc_relay.parked_records GROUP BY 1 HAVING count(*) > 1 OR event_id IS NULL"
        )


@pytest.fixture
def ground(make_pipeline: MakePipeline, make_relay: MakeRelay, broker: KafkaBroker, tmp_path: Path) -> Ground:
    events = Numbered(make_pipeline(kafka=broker, topic_config=NARROW), broker)
    return Ground(events, make_relay, tmp_path / "trap")


def all_keys(first: int, last: int) -> list[tuple[str, int]]:
    return [(KEYS[number % len(KEYS)], number) for number in range(first, last)]


def wait_for_the_slot(events: Numbered) -> None:
    """Until what was delivered or parked is confirmed: a kill then repeats nothing but what the lot publishes."""
    [(lsn,)] = events.sql("SELECT (max(commit_lsn) - '0/0')::bigint FROM cdc_relay.parked_records")
    confirmed = events.pipeline.confirmed_lsn
    wait_until(lambda: confirmed() > lsn, timeout=60, what="the slot is confirmed behind what is parked")


def repair(events: Numbered, broker: KafkaBroker) -> None:
    broker.configure_topic(events.topic, max_message_bytes="200000")
    events.tell("UPDATE cdc_relay.parked_records SET next_retry_at = now() WHERE status = 'retrying'")


@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("step", ["park.before", "park.after"])
@pytest.mark.parametrize("ordering", ["relaxed", "strict"])
def test_a_kill_while_parking(ground: Ground, broker: KafkaBroker, ordering: str, step: str, nth: int) -> None:
    events = ground.events
    ground.trap.touch()
    relay = ground.start(step, nth=nth, ordering=ordering, retry=QUICK)
    events.commit(all_keys(0, 20), bad=BAD)
    if nth > 1:
        wait_until(lambda: bool(events.lot()), timeout=60, what="the first are parked")
        events.commit(all_keys(20, 40), bad={21, 22})
    ground.fall(relay)
    if step == "park.after":  # the slot brings them again, and now they could be published
        repair(events, broker)
    relay.start()
    if step == "park.before":
        wait_until(lambda: bool(events.lot()), timeout=60, what="they are parked after all")
        repair(events, broker)
    ground.survive(relay)
    if ordering == "strict":
        events.assert_in_order()
    assert [n for _, n in events.duplicates() if n in BAD | {21, 22}] == []  # the slot may repeat the good ones


@pytest.mark.parametrize("step", ["fail.before", "fail.after"])
@pytest.mark.parametrize("ordering", ["relaxed", "strict"])
def test_a_kill_while_a_failed_try_is_written_down(
    ground: Ground, broker: KafkaBroker, ordering: str, step: str
) -> None:
    events = ground.events
    ground.trap.touch()
    relay = ground.start(step, ordering=ordering, retry=QUICK)
    events.commit(all_keys(0, 20), bad=BAD)
    ground.fall(relay)
    repair(events, broker)
    relay.start()
    ground.survive(relay)
    if ordering == "strict":
        events.assert_in_order()
    assert [n for _, n in events.duplicates() if n in BAD] == []


@pytest.mark.parametrize(
    ("step", "nth"), [*((step, 1) for step in CLAIMS + OUT), ("publish.before", 4), ("publish.after", 4)]
)
def test_a_kill_while_publishing_from_the_lot(ground: Ground, broker: KafkaBroker, step: str, nth: int) -> None:
    events = ground.events
    relay = ground.start(step, nth=nth, ordering="relaxed", retry=PATIENT)
    events.commit(all_keys(0, 20), bad=BAD)
    events.wait_for_lot(retrying=BATCH)
    events.wait_until_delivered(without=BAD)
    wait_for_the_slot(events)
    ground.trap.touch()
    repair(events, broker)
    ground.fall(relay)
    relay.start()
    ground.survive(relay)
    assert len(events.duplicates()) <= (BATCH if step in OUT else 0)


@pytest.mark.parametrize(
    ("step", "nth"),
    [*((step, 1) for step in CLAIMS), ("claim_key.before", 1), ("claim_key.after", 1)]
    + [(step, nth) for step in OUT for nth in (1, 5)],
)
def test_a_kill_while_publishing_from_the_lot_in_strict_order(
    ground: Ground, broker: KafkaBroker, step: str, nth: int
) -> None:
    events = ground.events
    relay = ground.start(step, nth=nth, ordering="strict", retry=PATIENT)
    events.commit(all_keys(0, 40), bad={4, 12})  # of one key: one record of it is out at a time
    events.wait_for_lot(retrying=1, behind=8)
    events.wait_until_delivered(without={n for n in range(4, 40) if n % 4 == 0})
    wait_for_the_slot(events)
    ground.trap.touch()
    repair(events, broker)
    ground.fall(relay)
    relay.start()
    ground.survive(relay)
    events.assert_in_order()
    assert len(events.duplicates()) <= (1 if step in OUT else 0)


@pytest.mark.parametrize("step", ["claim_topic.before", "claim_topic.after", *OUT])
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("ordering", ["relaxed", "strict"])
def test_a_kill_while_a_topic_is_opened_again(
    ground: Ground, broker: KafkaBroker, ordering: str, step: str, nth: int
) -> None:
    events = Numbered(ground.events.pipeline, broker, f"later-{ground.events.aggregate_type}")
    ground.events = events
    relay = ground.start(step, nth=nth, ordering=ordering)
    events.commit([("k0", number) for number in range(30)])
    events.wait_for_lot(retrying=30)
    wait_for_the_slot(events)
    ground.trap.touch()
    broker.create_topic(events.topic)
    ground.fall(relay)
    relay.start()
    ground.survive(relay)
    batch = 1 if ordering == "strict" else 30
    assert len(events.duplicates()) <= (batch if step in OUT else 0)
    if ordering == "strict":
        events.assert_in_order()
