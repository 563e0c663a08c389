"""A topic that cannot take records: its records wait in the lot, the others flow, and it gets them in order when it is
repaired. On a real broker, with events for a sick and a well topic in the same transactions all the while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.observed import wait_for_state, wait_for_status_updates
from tests.fixtures.consume import read_topic
from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_relay import MakePipeline
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.process import wait_until
from tests.fixtures.sick_topic import ORDER_OF, SickAndWell, first_numbers, numbers

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]

USER = "relay"
MISSING = {"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC"}
FORBIDDEN = {"TOPIC_AUTHORIZATION_FAILED"}
ASKED_IN_VAIN = 8  # status updates, one a second: a probe is asked after one and gives up after five


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    """Makes no topics by itself; who comes with credentials may do only what was granted."""
    jars = find_jars()
    assert isinstance(jars, Path)  # the mark real_kafka has seen to it
    kafka = KafkaBroker(jars, {"auto.create.topics.enable": False}, users=[USER])
    try:
        kafka.start()
        yield kafka
    finally:
        kafka.destroy()


@pytest.fixture
def make_topics(make_pipeline: MakePipeline, broker: KafkaBroker) -> Iterator[Callable[[], SickAndWell]]:
    """The sick one is not there yet."""
    pairs: list[SickAndWell] = []

    def make() -> SickAndWell:
        pairs.append(SickAndWell(make_pipeline(kafka=broker)))
        return pairs[-1]

    yield make
    for pair in pairs:
        pair.close()


@pytest.fixture
def topics(make_topics: Callable[[], SickAndWell], broker: KafkaBroker) -> SickAndWell:
    pair = make_topics()
    broker.grant(USER, "write", pair.well)
    return pair


@dataclass(frozen=True)
class Sickness:
    """How the topic is before the relay starts, how it falls ill while records flow, and how it is repaired."""

    codes: set[str]
    before: Callable[[KafkaBroker, str], None]
    strike: Callable[[KafkaBroker, str], None] | None
    repair: Callable[[KafkaBroker, str], None]
    config: Callable[[KafkaBroker], dict[str, Any]] = lambda broker: {}


def create(broker: KafkaBroker, topic: str) -> None:
    broker.create_topic(topic, partitions=3)


def create_writable(broker: KafkaBroker, topic: str) -> None:
    create(broker, topic)
    broker.grant(USER, "describe", topic)
    broker.grant(USER, "write", topic)


def with_credentials(broker: KafkaBroker) -> dict[str, Any]:
    return {"sink": {"kafka": broker.credentials(USER)}}


def nothing(broker: KafkaBroker, topic: str) -> None:
    pass


SICKNESSES = {
    "missing": Sickness(MISSING, before=nothing, strike=None, repair=create),
    "without Describe": Sickness(
        FORBIDDEN,
        before=create,
        strike=None,
        repair=lambda broker, topic: broker.grant(USER, "write", topic),
        config=with_credentials,
    ),
    "Write revoked while records flow": Sickness(
        FORBIDDEN,
        before=create_writable,
        strike=lambda broker, topic: broker.revoke(USER, "write", topic),
        repair=lambda broker, topic: broker.grant(USER, "write", topic),
        config=with_credentials,
    ),
}


@pytest.mark.parametrize("sickness", SICKNESSES.values(), ids=list(SICKNESSES))
def test_only_the_records_of_a_closed_topic_wait_and_they_go_out_in_order_when_it_is_repaired(
    topics: SickAndWell, broker: KafkaBroker, sickness: Sickness
) -> None:
    sickness.before(broker, topics.sick)
    with topics.inflow() as inflow:
        relay = topics.start_relay(**sickness.config(broker))
        if sickness.strike is not None:
            wait_until(lambda: topics.delivered_count(topics.sick) >= 100, timeout=60, what="the topic was well")
            sickness.strike(broker, topics.sick)
        topics.wait_until_closed(relay)
        topics.assert_only_the_sick_one_waits(relay, sickness.codes)
        sickness.repair(broker, topics.sick)
        topics.wait_until_open(relay)
        inflow.let_pass(100)
    topics.wait_until_all_arrived(inflow)
    assert relay.stop() == 0
    topics.assert_all_in_order(inflow)


def test_a_topic_that_is_deleted_while_records_flow_and_made_anew_gets_all_that_came_since(
    topics: SickAndWell, broker: KafkaBroker
) -> None:
    """What it had acknowledged went with it: the new one has the rest of the stream, without a gap."""
    create(broker, topics.sick)
    with topics.inflow() as inflow:
        relay = topics.start_relay()
        wait_until(lambda: topics.delivered_count(topics.sick) >= 100, timeout=60, what="the topic was well")
        broker.delete_topic(topics.sick)
        topics.wait_until_closed(relay)
        topics.assert_only_the_sick_one_waits(relay, MISSING)
        create(broker, topics.sick)
        topics.wait_until_open(relay)
        inflow.let_pass(100)
    topics.wait_until_lot_is_empty()
    first = topics.rows()[0].number
    wanted = list(range(first, inflow.sick_count))
    wait_until(lambda: topics.delivered_count(topics.sick) >= len(wanted), timeout=60, what="the rest has arrived")
    assert relay.stop() == 0
    assert "producer broke" not in relay.stderr  # one topic's end is no reason to begin anew
    messages = read_topic(broker.bootstrap, topics.sick)
    assert sorted(numbers(messages)) == wanted
    assert all(firsts == sorted(firsts) for firsts in first_numbers(messages).values())


@pytest.mark.parametrize("ordering", ORDER_OF)
def test_a_topic_stays_closed_over_restarts_and_its_order_survives_them(
    topics: SickAndWell, broker: KafkaBroker, ordering: str
) -> None:
    """With a retry that forgives nothing: waiting is not an attempt, and nothing becomes dead of it."""
    with topics.inflow() as inflow:
        relay = topics.start_relay(delivery={"ordering": ordering})
        topics.wait_until_closed(relay)
        topics.assert_only_the_sick_one_waits(relay, MISSING)
        assert relay.stop() == 0
        inflow.let_pass(50)
        relay.start().wait_ready()
        topics.wait_until_closed(relay)
        topics.assert_only_the_sick_one_waits(relay, MISSING)
        relay.kill()
        inflow.let_pass(50)
        relay.start().wait_ready()
        topics.wait_until_closed(relay)
        topics.assert_only_the_sick_one_waits(relay, MISSING)
        assert relay.stop() == 0
        create(broker, topics.sick)  # while nobody looks: what waits in the lot still goes first
        inflow.let_pass(50)
        relay.start().wait_ready()
        topics.wait_until_open(relay)
        inflow.let_pass(100)
    topics.wait_until_all_arrived(inflow)
    assert relay.stop() == 0
    # What kill -9 left unconfirmed comes again on the well topic; the sick one had nothing out.
    topics.assert_all_in_order(inflow, by=ORDER_OF[ordering], well_duplicates=None)


@pytest.mark.parametrize("ordering", ORDER_OF)
def test_a_topic_opens_again_under_constant_inflow_and_leaves_an_empty_lot(
    topics: SickAndWell, broker: KafkaBroker, ordering: str
) -> None:
    with topics.inflow(sick_rows=5) as inflow:  # some hundred a second
        relay = topics.start_relay(delivery={"ordering": ordering})
        topics.wait_until_closed(relay)
        topics.wait_until_parked(2000)
        create(broker, topics.sick)
        topics.wait_until_open(relay)
        topics.wait_until_lot_is_empty()
        inflow.let_pass(100)
    topics.wait_until_all_arrived(inflow)
    assert relay.stop() == 0
    topics.assert_all_in_order(inflow, by=ORDER_OF[ordering])


def test_a_cluster_that_is_away_parks_nothing_of_a_topic_that_was_well(
    make_topics: Callable[[], SickAndWell], broker: KafkaBroker
) -> None:
    """Not with one topic, where it looks the same as a closed one, nor with two, nor while another one is closed."""
    one, two, closed = make_topics(), make_topics(), make_topics()
    create(broker, one.sick)
    create(broker, two.sick)
    with one.inflow(sick_rows=0) as of_one, two.inflow() as of_two, closed.inflow() as of_closed:
        relays = [each.start_relay(delivery={"partial_outage_after": "1s"}) for each in (one, two, closed)]
        closed.wait_until_closed(relays[2])
        closed.assert_only_the_sick_one_waits(relays[2], MISSING)
        broker.freeze()
        wait_for_state(relays[0], "holding")
        wait_for_status_updates(one.pipeline, ASKED_IN_VAIN)
        broker.kill()
        broker.start()
        closed.assert_only_the_sick_one_waits(relays[2], MISSING)
        create(broker, closed.sick)
        closed.wait_until_open(relays[2])
        assert [one.closed_topics(relays[0]), two.closed_topics(relays[1])] == [[], []]
    for each, inflow in ((one, of_one), (two, of_two), (closed, of_closed)):
        each.wait_until_all_arrived(inflow)
    assert [relay.stop() for relay in relays] == [0, 0, 0]
    assert [one.rows(), two.rows()] == [[], []]
    for each, inflow in ((one, of_one), (two, of_two), (closed, of_closed)):
        each.assert_all_in_order(inflow, well_duplicates=None)  # what was written and not acknowledged may come again
