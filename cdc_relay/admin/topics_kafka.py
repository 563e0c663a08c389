"""The topics of a cluster, read and changed through librdkafka's admin client. Every call has its time limit.

Decides nothing: reads facts for the plan and carries out its steps, each with its own outcome.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, TopicCollection
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._topic import TopicDescription
from confluent_kafka.cimpl import NewPartitions, NewTopic

from cdc_relay.admin.kafka_admin import UNKNOWN_TOPIC, KafkaAdmin
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
from cdc_relay.admin.topics_refusals import explain

__all__ = ["KafkaTopics"]

_READ_SECONDS = 10.0
_CHANGE_SECONDS = 30.0


class KafkaTopics:
    """One admin client, with the connection of sink.kafka."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._admin = KafkaAdmin(properties)
        self._client = self._admin.client

    def read(self, topics: Sequence[str]) -> dict[str, Facts]:
        """Asks for each by its name, in a way that makes no broker create it."""
        if not topics:
            return {}
        described = self._admin.answers(
            self._client.describe_topics(TopicCollection(list(topics)), request_timeout=_READ_SECONDS), _READ_SECONDS
        )
        absent = {topic: _absence(answer) for topic, answer in described.items() if isinstance(answer, KafkaError)}
        properties = self._read_properties([topic for topic in topics if topic not in absent])
        return absent | {topic: _facts(described[topic], known) for topic, known in properties.items()}

    def carry_out(self, steps: Sequence[Step], *, rehearse: bool = False) -> list[Obstacle | None]:
        """None for what is done, or would be: a rehearsal has the brokers check everything and changes nothing."""
        options = {"request_timeout": _CHANGE_SECONDS, "validate_only": rehearse}
        asked = {place: self._ask_for(step, options) for place, step in enumerate(steps)}
        answers = self._admin.wait(asked, _CHANGE_SECONDS + 1)
        return [_outcome(step, answers[place]) for place, step in enumerate(steps)]

    def _ask_for(self, step: Step, options: dict[str, Any]) -> Future[Any]:
        match step:
            case CreateTopic(topic=topic):
                return self._client.create_topics([_new_topic(step)], **options)[topic]
            case AddPartitions(topic=topic, after=after):
                return self._client.create_partitions([NewPartitions(topic, after)], **options)[topic]
            case AlterProperties():
                resource = _altered(step)
                return self._client.incremental_alter_configs([resource], **options)[resource]

    def _read_properties(self, topics: Sequence[str]) -> dict[str, dict[str, str] | None]:
        """None for a topic whose properties we may not read."""
        resources = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in topics]
        if not resources:
            return {}
        asked = self._client.describe_configs(resources, request_timeout=_READ_SECONDS)
        answers = self._admin.answers({resource.name: future for resource, future in asked.items()}, _READ_SECONDS)
        return {topic: _values(answer) for topic, answer in answers.items()}


def _outcome(step: Step, answer: object) -> Obstacle | None:
    return explain(step, answer.name(), answer.str()) if isinstance(answer, KafkaError) else None


def _absence(error: KafkaError) -> Absence:
    return Absence.MISSING if error.name() in UNKNOWN_TOPIC else Absence.HIDDEN


def _facts(description: TopicDescription, properties: Mapping[str, str] | None) -> Facts:
    replicas = frozenset(len(partition.replicas) for partition in description.partitions)
    return TopicFacts(len(description.partitions), replicas, properties)


def _values(answer: KafkaError | dict[str, ConfigEntry]) -> dict[str, str] | None:
    if isinstance(answer, KafkaError):
        return None
    return {name: entry.value or "" for name, entry in answer.items()}


def _new_topic(step: CreateTopic) -> NewTopic:
    settings = step.settings
    return NewTopic(
        step.topic,
        num_partitions=settings.partitions or -1,
        replication_factor=settings.replication_factor or -1,
        config=dict(settings.properties),
    )


def _altered(step: AlterProperties) -> ConfigResource:
    resource = ConfigResource(ConfigResource.Type.TOPIC, step.topic)
    for change in step.changes:
        entry = ConfigEntry(change.name, change.after, incremental_operation=AlterConfigOpType.SET)
        resource.add_incremental_config(entry)
    return resource
