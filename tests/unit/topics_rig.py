"""A cluster in memory for the planning of topics: it does what it is told, and refuses what the test says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from cdc_relay.admin.topics_plan import (
    Absence,
    AddPartitions,
    AlterProperties,
    CreateTopic,
    Facts,
    Obstacle,
    Step,
    TopicFacts,
)
from cdc_relay.config import TopicSettings

__all__ = ["FakeCluster", "settings", "there"]

REFUSAL = Obstacle("create: refused: too few brokers", "start more brokers")


def settings(
    partitions: int | None = None, replication_factor: int | None = None, **properties: str | int
) -> TopicSettings:
    """Kafka's property names, with _ for the dots."""
    return TopicSettings(partitions, replication_factor, _named(properties))


def there(partitions: int = 1, replication_factor: int = 1, **properties: str | int) -> TopicFacts:
    return TopicFacts(partitions, frozenset({replication_factor}), _named(properties))


def _named(properties: Mapping[str, str | int]) -> dict[str, str]:
    return {name.replace("_", "."): str(value) for name, value in properties.items()}


class FakeCluster:
    def __init__(self, topics: Mapping[str, Facts], *, refuses: Sequence[str] = ()) -> None:
        self.topics = dict(topics)
        self.refuses = refuses

    def read(self, topics: Sequence[str]) -> dict[str, Facts]:
        return {topic: self.topics.get(topic, Absence.MISSING) for topic in topics}

    def carry_out(self, steps: Sequence[Step], *, rehearse: bool = False) -> list[Obstacle | None]:
        for step in steps:
            if not rehearse and step.topic not in self.refuses:
                self.topics[step.topic] = self._changed(step)
        return [REFUSAL if step.topic in self.refuses else None for step in steps]

    def _changed(self, step: Step) -> TopicFacts:
        before = self.topics.get(step.topic)
        match step:
            case CreateTopic(settings=it):
                return TopicFacts(it.partitions or 1, frozenset({it.replication_factor or 1}), it.properties)
            case AddPartitions(after=after):
                assert isinstance(before, TopicFacts)
                return replace(before, partitions=after)
            case AlterProperties(changes=changes):
                assert isinstance(before, TopicFacts)
                new = {change.name: change.after for change in changes}
                return replace(before, properties={**(before.properties or {}), **new})
            case never:
                assert_never(never)
