"""Records that travel alone: gathered for a moment while nobody waits for them, and sent at once when somebody does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cdc_relay.sinks.alone_outlet import AloneOutlet
from cdc_relay.sinks.producers import producer_properties
from cdc_relay.sinks.sink import Slip
from tests.contract.sinks import KafkaBench, record, ticket
from tests.fixtures.process import wait_until
from tests.unit.fakes import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def alone(brokers: KafkaBench, clock: FakeClock) -> Iterator[AloneOutlet]:
    properties = producer_properties({"bootstrap.servers": brokers.kafka.bootstrap})
    outlet = AloneOutlet(properties, complain=lambda error: None, clock=clock)
    yield outlet
    outlet.close()


def test_while_nobody_waits_they_gather_for_a_moment(alone: AloneOutlet, brokers: KafkaBench, clock: FakeClock) -> None:
    topic = brokers.make_topic()
    for key in (b"a", None):
        alone.publish(record(topic, key), ticket())
        alone.poll(0)
    assert (len(alone.waiting), alone.is_busy) == (2, True)
    clock.now += 0.02
    alone.poll(0)
    assert not alone.waiting


def test_many_gather_no_longer(alone: AloneOutlet, brokers: KafkaBench) -> None:
    topic = brokers.make_topic()
    for number in range(64):
        assert len(alone.waiting) == number
        alone.publish(record(topic, b"%d" % number), ticket())
        alone.poll(0)
    assert not alone.waiting


def test_who_waits_for_the_reports_sends_them_first(alone: AloneOutlet, brokers: KafkaBench) -> None:
    given = ticket()
    alone.publish(record(brokers.make_topic()), given)
    alone.flush(60)
    assert alone.producer.delivered == [given]


def test_the_next_of_a_key_follows_at_once(alone: AloneOutlet, brokers: KafkaBench) -> None:
    """To gather one at a time would make a key as slow as the clock."""
    topic, tickets = brokers.make_topic(), [ticket(), ticket()]
    for each in tickets:
        alone.publish(record(topic, b"k"), each)
    alone.flush(60)
    assert alone.producer.delivered[:1] == tickets[:1]
    assert not alone.waiting
    wait_until(lambda: _poll(alone) == tickets, timeout=60, what="both are delivered")


def test_what_gathers_is_taken_back_with_the_rest(alone: AloneOutlet, brokers: KafkaBench) -> None:
    topic, tickets = brokers.make_topic(), [ticket(), ticket()]
    for each in tickets:
        alone.publish(record(topic, b"k"), each)
    alone.empty(5)
    assert [slip for slip, _ in alone.purged] == tickets


def _poll(alone: AloneOutlet) -> list[Slip]:
    alone.poll(0)
    return alone.producer.delivered
