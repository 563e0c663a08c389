"""The relay dies, or is taken for dead: what it had not confirmed comes again, and nothing else does."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any, NamedTuple

import pytest

from tests.chaos.observed import readiness, slot_is_active, wait_for_state, wait_until_readiness
from tests.chaos.trial import Trial, make_judged_pipeline, trial
from tests.fixtures.consume import consumer, end_offsets
from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_proxy import TcpProxy
from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess
from tests.fixtures.history import Delivery
from tests.fixtures.process import wait_until

KILL_COUNT = 10
MAX_COMMITS_BETWEEN_KILLS = 400  # about 4 s: some kills hit a relay that still starts, most one that streams
WINDOW = 200


class Kill(NamedTuple):
    confirmed_lsn: int
    positions: dict[tuple[str, int], int]

    def precedes(self, delivery: Delivery) -> bool:
        return delivery.offset >= self.positions[delivery.topic, delivery.partition]


@pytest.mark.core
@pytest.mark.kafka
def test_ten_kills_under_load_repeat_only_what_was_unconfirmed(make_pipeline: MakePipeline, rng: random.Random) -> None:
    pipeline = make_judged_pipeline(make_pipeline)
    relay = pipeline.start_relay()
    kills = []
    with trial(pipeline, rng) as load:
        load.let_deliver()
        for _ in range(KILL_COUNT):
            load.let_commit(rng.randint(0, MAX_COMMITS_BETWEEN_KILLS))
            kills.append(kill(relay, pipeline))
            relay.start()
        load.let_deliver()
    report = load.report()
    report.assert_clean()
    assert report.duplicates, "no kill met a record in flight, so nothing was shown"
    assert repeated_in_one_life(load, kills) == []
    assert repeated_though_confirmed(load, kills) == []


def kill(relay: RelayProcess, pipeline: Pipeline) -> Kill:
    """And see what is confirmed for good: the walsender may read a last status update after the relay is gone."""
    relay.kill()
    wait_until(lambda: not slot_is_active(pipeline), timeout=30, what="the slot is free")
    return Kill(pipeline.confirmed_lsn(), positions(pipeline))


def positions(pipeline: Pipeline) -> dict[tuple[str, int], int]:
    """(topic, partition) -> the offset that its next record will get."""
    reader = consumer(pipeline.kafka.bootstrap)
    try:
        return end_offsets(reader, [pipeline.topic])
    finally:
        reader.close()


def repeated_in_one_life(load: Trial, kills: list[Kill]) -> list[str]:
    """Events that came twice without a kill in between."""
    lives = Counter((each.id, sum(kill.precedes(each) for kill in kills)) for each in load.history.deliveries)
    return [event_id for (event_id, _), count in lives.items() if count > 1]


def repeated_though_confirmed(load: Trial, kills: list[Kill]) -> list[Delivery]:
    """Deliveries of a relay that started at a slot which had passed them. An event's LSN bound may be too high by a few
    records of other writers: that can hide a repetition at the very edge, and never claims one."""
    upper_lsns = load.history.upper_lsns

    def had_passed(delivery: Delivery) -> bool:
        started_at = max((kill.confirmed_lsn for kill in kills if kill.precedes(delivery)), default=0)
        return upper_lsns.get(delivery.id, math.inf) <= started_at

    return [delivery for delivery in load.history.deliveries if had_passed(delivery)]


@pytest.mark.real_kafka
def test_a_relay_that_stood_still_while_another_took_over_ends_up_standing_by(
    make_pipeline: MakePipeline, mortal_kafka: KafkaBroker, kafka_proxy: TcpProxy, rng: random.Random
) -> None:
    """It stood still with a full queue. What of that it still sends are duplicates; only its window bounds them."""
    pipeline = make_judged_pipeline(make_pipeline, kafka=mortal_kafka)
    options: dict[str, Any] = {"source": {"wal_sender_timeout": "4s"}, "delivery": {"window": {"records": WINDOW}}}
    paused = pipeline.start_relay(bootstrap=kafka_proxy.address, **options)
    heir = pipeline.start_relay(ready=False, **options)
    wait_for_state(heir, "standby")
    with trial(pipeline, rng) as load:
        load.let_deliver()
        kafka_proxy.stall("to_server")
        wait_until_readiness(paused, lambda said: said.get("open_records") == WINDOW, what="its queue is full")
        paused.pause()
        wait_for_state(heir, "streaming")
        load.let_deliver()
        before = positions(pipeline)
        kafka_proxy.resume()
        paused.resume()
        wait_for_state(paused, "standby")
        published = readiness(paused)["published_records"]
        load.let_deliver(1000)
        assert readiness(paused)["published_records"] == published
    report = load.report()
    report.assert_clean()
    stale = [each for each in report.duplicates if each.offset >= before[each.topic, each.partition]]
    assert len(stale) <= WINDOW
