"""A topic below its min.insync.replicas, or without a leader, on three brokers: only its records wait, and no report
ever says so. The relay has to ask, and what it takes back then may be on the topic already."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fixtures.fix_kafka import KafkaCluster
from tests.fixtures.fix_relay import MakePipeline, RelayProcess
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.process import wait_until
from tests.fixtures.sick_topic import ORDER_OF, Inflow, SickAndWell

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]

PATIENCE = "2s"


@dataclass(frozen=True)
class Loss:
    """The nodes of the sick topic, the one that goes, and what the relay finds out then."""

    replicas: list[int]
    gone: int
    min_in_sync: int
    codes: set[str]


BELOW_MIN_ISR = Loss([1, 2], gone=2, min_in_sync=2, codes={"NOT_ENOUGH_REPLICAS"})
WITHOUT_LEADER = Loss([3], gone=3, min_in_sync=1, codes={"LEADER_NOT_AVAILABLE"})


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    jars = find_jars()
    assert isinstance(jars, Path)  # the mark real_kafka has seen to it
    cluster = KafkaCluster(jars)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.destroy()


@pytest.fixture
def topics(make_pipeline: MakePipeline, cluster: KafkaCluster) -> Iterator[SickAndWell]:
    """The well one is on the first node, which stays."""
    pair = SickAndWell(make_pipeline(kafka=cluster))
    yield pair
    pair.close()
    for node in cluster.nodes.values():
        if not node.is_running:
            node.start()


@pytest.mark.parametrize(
    ("loss", "ordering"),
    [
        pytest.param(BELOW_MIN_ISR, "relaxed", id="below min ISR"),
        pytest.param(WITHOUT_LEADER, "strict", id="no leader"),
    ],
)
def test_only_the_records_of_a_topic_that_lost_its_brokers_wait_and_they_go_out_in_order(
    topics: SickAndWell, cluster: KafkaCluster, loss: Loss, ordering: str
) -> None:
    create_sick(cluster, topics, loss)
    relay = topics.start_relay(delivery={"ordering": ordering, "partial_outage_after": PATIENCE})
    with topics.inflow() as inflow:
        in_flight = lose(cluster, topics, loss, inflow=inflow, relay=relay)
        topics.assert_only_the_sick_one_waits(relay, loss.codes, is_readable=loss is not WITHOUT_LEADER)
        cluster.nodes[loss.gone].start()
        topics.wait_until_open(relay)
        inflow.let_pass(100)
    topics.wait_until_all_arrived(inflow)
    assert relay.stop() == 0
    topics.assert_all_in_order(inflow, by=ORDER_OF[ordering], sick_duplicates=in_flight)


def test_a_topic_below_min_isr_stays_closed_when_the_relay_is_killed_and_keeps_its_order(
    topics: SickAndWell, cluster: KafkaCluster
) -> None:
    loss = BELOW_MIN_ISR
    create_sick(cluster, topics, loss)
    relay = topics.start_relay(delivery={"ordering": "strict", "partial_outage_after": PATIENCE})
    with topics.inflow() as inflow:
        in_flight = lose(cluster, topics, loss, inflow=inflow, relay=relay)
        relay.kill()
        relay.start().wait_ready()
        topics.wait_until_closed(relay)
        topics.assert_only_the_sick_one_waits(relay, loss.codes)
        cluster.nodes[loss.gone].start()
        topics.wait_until_open(relay)
    topics.wait_until_all_arrived(inflow)
    assert relay.stop() == 0
    topics.assert_all_in_order(inflow, by=ORDER_OF["strict"], sick_duplicates=in_flight, well_duplicates=None)


def create_sick(cluster: KafkaCluster, topics: SickAndWell, loss: Loss) -> None:
    cluster.create_replicated_topic(topics.sick, loss.replicas, {"min.insync.replicas": str(loss.min_in_sync)})
    wait_until(lambda: cluster.in_sync(topics.sick) == set(loss.replicas), timeout=60, what="all are in sync")


def lose(cluster: KafkaCluster, topics: SickAndWell, loss: Loss, *, inflow: Inflow, relay: RelayProcess) -> int:
    """Kill the node while records flow, until the topic is closed; how many records were not acknowledged then."""
    wait_until(lambda: topics.delivered_count(topics.sick) >= 100, timeout=60, what="the topic was well")
    acknowledged = topics.delivered_count(topics.sick)
    cluster.nodes[loss.gone].kill()
    topics.wait_until_closed(relay, timeout=20)  # not the 30 s for which a broker may keep a request, and all behind it
    return inflow.sick_count - acknowledged
