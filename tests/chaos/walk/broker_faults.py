"""Faults of the brokers: one or two lost, frozen, restarted in turn; the controller lost; leaders moved."""

from __future__ import annotations

import random

from confluent_kafka import ElectionType, KafkaException, TopicPartition

from tests.chaos.walk.fault import Fault, last
from tests.chaos.walk.ground import Ground
from tests.fixtures.kafka_broker import KafkaBroker
from tests.fixtures.process import wait_until

__all__ = ["BROKER_FAULTS"]

VICTIMS = ("brokers",)


def choose(ground: Ground, rng: random.Random) -> KafkaBroker:
    return rng.choice(list(ground.cluster.brokers.values()))


def kill(ground: Ground, rng: random.Random) -> None:
    broker = choose(ground, rng)
    broker.kill()
    last(rng, 0, 6)
    broker.start()


def freeze(ground: Ground, rng: random.Random) -> None:
    """Shorter and longer than the controller waits before it moves the leaders."""
    broker = choose(ground, rng)
    broker.freeze()
    last(rng, 1, 8)
    broker.thaw()


def restart_in_turn(ground: Ground, rng: random.Random) -> None:
    for broker in rng.sample(list(ground.cluster.brokers.values()), 3):
        broker.restart()


def lose_two(ground: Ground, rng: random.Random) -> None:
    """Whatever is left is below min ISR, or leads nothing."""
    gone = rng.sample(list(ground.cluster.brokers.values()), 2)
    for broker in gone:
        broker.kill()
    last(rng, 4, 12)
    for broker in gone:
        broker.start()


def freeze_all(ground: Ground, rng: random.Random) -> None:
    brokers = list(ground.cluster.brokers.values())
    for broker in brokers:
        broker.freeze()
    last(rng, 1, 8)
    for broker in brokers:
        broker.thaw()


def lose_controller(ground: Ground, rng: random.Random) -> None:
    ground.cluster.controller.kill()
    last(rng, 1, 8)
    ground.cluster.controller.start()


def move_leaders(ground: Ground, rng: random.Random) -> None:
    """Away by a restart, and back by an election."""
    cluster, topic = ground.cluster, ground.pipeline.topic
    number = cluster.leader_of(topic)
    broker = cluster.brokers.get(number) or choose(ground, rng)
    broker.restart()
    partitions = [TopicPartition(topic, each) for each in range(ground.partition_count)]
    wait_until(lambda: _elect(ground, partitions), timeout=60, what="the preferred brokers lead again", every=0.5)


def _elect(ground: Ground, partitions: list[TopicPartition]) -> bool:
    admin = ground.cluster.admin()
    try:
        admin.elect_leaders(ElectionType.PREFERRED, partitions).result(30)
    except KafkaException:
        return False  # the controller has not seen it in sync yet
    return all(ground.cluster.leader_of(each.topic, each.partition) == 2 + each.partition % 3 for each in partitions)


BROKER_FAULTS = (
    Fault("a broker killed", VICTIMS, kill),
    Fault("a broker frozen", VICTIMS, freeze),
    Fault("all brokers frozen", VICTIMS, freeze_all),
    Fault("brokers restarted in turn", VICTIMS, restart_in_turn),
    Fault("two brokers killed: below min ISR", VICTIMS, lose_two),
    Fault("controller killed", VICTIMS, lose_controller),
    Fault("leaders moved", VICTIMS, move_leaders),
)
