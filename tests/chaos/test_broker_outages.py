"""The broker freezes, dies or goes away: the relay waits and goes on by itself, and the slot waits with it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.chaos.observed import (
    readiness,
    slot_is_active,
    wait_for_state,
    wait_for_status_updates,
    wait_until_readiness,
)
from tests.chaos.trial import make_judged_pipeline, trial
from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_relay import MakePipeline, Pipeline
from tests.fixtures.process import wait_until

pytestmark = pytest.mark.real_kafka

SEVERAL = 4  # status updates, one a second: Postgres goes on hearing from a relay whose broker is away
HELD = {"window": {"records": 50}, "release_line_after": "3s"}


@pytest.fixture
def pipeline(make_pipeline: MakePipeline, mortal_kafka: KafkaBroker) -> Pipeline:
    return make_judged_pipeline(make_pipeline, kafka=mortal_kafka)


def test_a_broker_that_freezes_for_a_while_makes_not_even_duplicates(
    pipeline: Pipeline, mortal_kafka: KafkaBroker, rng: random.Random
) -> None:
    pipeline.start_relay()
    with trial(pipeline, rng) as load:
        load.let_deliver()
        mortal_kafka.freeze()
        wait_for_status_updates(pipeline, SEVERAL)
        mortal_kafka.thaw()
        load.let_deliver()
    load.report().assert_clean(allow_duplicates=False)


@pytest.mark.parametrize("end", [KafkaBroker.kill, KafkaBroker.stop], ids=["killed", "stopped"])
def test_a_broker_that_is_restarted_gets_everything(
    pipeline: Pipeline, mortal_kafka: KafkaBroker, rng: random.Random, end: Callable[[KafkaBroker], None]
) -> None:
    pipeline.start_relay()
    with trial(pipeline, rng) as load:
        load.let_deliver()
        with load.incident("broker restarted"):
            end(mortal_kafka)
            wait_for_status_updates(pipeline, SEVERAL)
            mortal_kafka.start()
        load.let_deliver()
    load.report().assert_clean()


def test_a_relay_that_holds_too_long_releases_the_line_until_the_broker_answers(
    pipeline: Pipeline, mortal_kafka: KafkaBroker, rng: random.Random
) -> None:
    relay = pipeline.start_relay(delivery=HELD)
    with trial(pipeline, rng) as load:
        load.let_deliver()
        with load.incident("broker frozen, line released"):
            mortal_kafka.freeze()
            wait_for_state(relay, "released")
            wait_until(lambda: not slot_is_active(pipeline), timeout=30, what="the slot is free")
            mortal_kafka.thaw()
        load.let_deliver()
    load.report().assert_clean()


def test_a_relay_stays_released_while_the_broker_does_not_answer(
    pipeline: Pipeline, mortal_kafka: KafkaBroker, rng: random.Random
) -> None:
    """Also after it has asked the broker in vain: an operator who looks later must still see why nothing flows."""
    relay = pipeline.start_relay(delivery=HELD)
    with trial(pipeline, rng) as load:
        load.let_deliver()
        with load.incident("broker frozen, line released"):
            mortal_kafka.freeze()
            what = "the broker was asked in vain"
            wait_until_readiness(relay, lambda said: "Kafka does not answer" in said.get("reason", ""), what=what)
            assert (readiness(relay)["state"], slot_is_active(pipeline)) == ("released", False)
            mortal_kafka.thaw()
        load.let_deliver()
    load.report().assert_clean()
