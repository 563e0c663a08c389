"""What `cdc-relay topics` has to do, decided from what is wanted and what there is. Pure: facts in, a plan out.

What Kafka cannot change in place, or what would hurt, becomes an obstacle: said with what helps, never attempted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import TypeAlias

from cdc_relay.config import TopicSettings

__all__ = [
    "Absence",
    "AddPartitions",
    "AlterProperties",
    "CreateTopic",
    "Facts",
    "Obstacle",
    "PropertyChange",
    "Step",
    "TopicFacts",
    "TopicPlan",
    "Unmanaged",
    "plan_topic",
]

_MIN_IN_SYNC = "min.insync.replicas"
_NUMBER = re.compile(r"[+-]?[0-9]{1,20}(\.[0-9]{1,20})?")


class Absence(Enum):
    """Why there are no facts about a topic."""

    MISSING = "missing"
    HIDDEN = "hidden"  # we may not describe it; it may be there or not


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic as it is."""

    partitions: int
    replication_factors: frozenset[int]  # of its partitions; usually all the same
    properties: Mapping[str, str] | None  # in effect, whoever set them; None: we may not read them


Facts: TypeAlias = TopicFacts | Absence


@dataclass(frozen=True, slots=True)
class CreateTopic:
    topic: str
    settings: TopicSettings


@dataclass(frozen=True, slots=True)
class AddPartitions:
    topic: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class PropertyChange:
    name: str
    before: str | None  # None: this broker does not know the property
    after: str


@dataclass(frozen=True, slots=True)
class AlterProperties:
    topic: str
    changes: tuple[PropertyChange, ...]


Step: TypeAlias = CreateTopic | AddPartitions | AlterProperties


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A difference that is left as it is, and what an operator can do about it."""

    text: str
    remedy: str


@dataclass(frozen=True, slots=True)
class TopicPlan:
    topic: str
    exists: bool | None  # None: we may not know
    steps: tuple[Step, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()

    @property
    def differs(self) -> bool:
        return bool(self.steps or self.obstacles)


@dataclass(frozen=True, slots=True)
class Unmanaged:
    """A topic that the configuration names, but not under `topics:`."""

    topic: str
    named_by: str
    exists: bool | None


def plan_topic(topic: str, settings: TopicSettings, facts: Facts) -> TopicPlan:
    match facts:
        case Absence.MISSING:
            return TopicPlan(topic, False, steps=(CreateTopic(topic, settings),))
        case Absence.HIDDEN:
            return TopicPlan(topic, None, obstacles=(_hidden(topic),))
        case TopicFacts():
            return TopicPlan(topic, True, _steps(topic, settings, facts), tuple(_obstacles(topic, settings, facts)))


def _steps(topic: str, settings: TopicSettings, facts: TopicFacts) -> tuple[Step, ...]:
    return (*_growth(topic, settings, facts), *_alterations(topic, settings, facts))


def _growth(topic: str, settings: TopicSettings, facts: TopicFacts) -> Iterator[AddPartitions]:
    if settings.partitions is not None and settings.partitions > facts.partitions:
        yield AddPartitions(topic, facts.partitions, settings.partitions)


def _alterations(topic: str, settings: TopicSettings, facts: TopicFacts) -> Iterator[AlterProperties]:
    changes = tuple(change for change in _changes(settings, facts) if not _needs_more_replicas(change, facts))
    if changes:
        yield AlterProperties(topic, changes)


def _changes(settings: TopicSettings, facts: TopicFacts) -> Iterator[PropertyChange]:
    """Only what the file names; what it does not name is nobody's business."""
    if facts.properties is None:
        return
    for name, wanted in sorted(settings.properties.items()):
        actual = facts.properties.get(name)
        if actual is None or not _mean_the_same(wanted, actual):
            yield PropertyChange(name, actual, wanted)


def _needs_more_replicas(change: PropertyChange, facts: TopicFacts) -> bool:
    """Brokers differ in what they do below a min ISR that the topic can never reach; the older ones refuse writes."""
    return change.name == _MIN_IN_SYNC and change.after.isdecimal() and int(change.after) > _fewest_replicas(facts)


def _obstacles(topic: str, settings: TopicSettings, facts: TopicFacts) -> Iterator[Obstacle]:
    if settings.partitions is not None and settings.partitions < facts.partitions:
        yield _fewer_partitions(facts.partitions, settings.partitions)
    if settings.replication_factor is not None and facts.replication_factors != {settings.replication_factor}:
        yield _other_replication(topic, facts.replication_factors, settings.replication_factor)
    for change in _changes(settings, facts):
        if _needs_more_replicas(change, facts):
            yield _min_in_sync_waits(change, _fewest_replicas(facts))
    if facts.properties is None and settings.properties:
        yield _unreadable(topic)


def _fewest_replicas(facts: TopicFacts) -> int:
    return min(facts.replication_factors)


def _mean_the_same(wanted: str, actual: str) -> bool:
    """A broker prints values its own way: `TRUE` as true, `0.50` as 0.5, `compact, delete` without the blank."""
    return _canonical(wanted) == _canonical(actual)


def _canonical(value: str) -> object:
    if _NUMBER.fullmatch(value):
        return Decimal(value)
    items = [item.strip() for item in value.split(",")]
    return [item.lower() if item.lower() in ("true", "false") else item for item in items]


def _hidden(topic: str) -> Obstacle:
    return Obstacle(
        "it cannot be seen whether the topic exists: the principal of sink.kafka may not describe it",
        f"grant Describe and DescribeConfigs on topic {topic}, and what docs/privileges.md names for apply",
    )


def _unreadable(topic: str) -> Obstacle:
    return Obstacle(
        "its properties cannot be compared: the principal of sink.kafka may not read them",
        f"grant DescribeConfigs on topic {topic} (AlterConfigs, for apply)",
    )


def _fewer_partitions(actual: int, wanted: int) -> Obstacle:
    return Obstacle(
        f"partitions: it has {actual}, and {wanted} are wanted; Kafka takes no partition away",
        f"write partitions: {actual}; or make a new topic with {wanted}, such as the next version of the name, and move"
        " routes and consumers to it",
    )


def _other_replication(topic: str, actual: frozenset[int], wanted: int) -> Obstacle:
    shown = " or ".join(map(str, sorted(actual)))
    return Obstacle(
        f"replication_factor: it has {shown}, and {wanted} is wanted; replicas are moved by whoever runs the cluster",
        f"move them with kafka-reassign-partitions (docs/topics.md), then plan again; or write what topic {topic} has",
    )


def _min_in_sync_waits(change: PropertyChange, replicas: int) -> Obstacle:
    return Obstacle(
        f"{_MIN_IN_SYNC}: stays {change.before}, and {change.after} is wanted; with {replicas} replica"
        f"{'s'[: replicas > 1]} brokers could refuse every write",
        "raise the replication factor first, then apply again; or lower min_insync_replicas",
    )
