"""The topics of a cluster, read and changed through librdkafka's admin client. Every call has its time limit.

Decides nothing: reads facts for the plan and carries out its steps, each with its own outcome.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._topic import TopicDescription
from confluent_kafka.cimpl import NewPartitions, NewTopic

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
from cdc_relay.admin.topics_refusals import NO_RIGHT, explain
from cdc_relay.errors import AwayError, ConfigError, RefusedError, RelayError
from cdc_relay.sinks.producers import producer_properties, text_of

__all__ = ["KafkaTopics"]

_READ_SECONDS = 10.0
_CHANGE_SECONDS = 30.0
_REFUSED_SECONDS = 2.0  # a broker that refuses us may have a neighbour that does not
_TURN_SECONDS = 0.1
_UNKNOWN = ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC")
_WRONG_CREDENTIALS = (
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
)
_Key = TypeVar("_Key")


class KafkaTopics:
    """One admin client, with the connection of sink.kafka."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._complaint: KafkaError | None = None
        # a producer's identity would need rights of its own
        asked = {**producer_properties(properties), "enable.idempotence": "false", "error_cb": self._on_error}
        try:
            self._admin = AdminClient(asked)  # type: ignore[arg-type]  # the stubs know no callback
        except (KafkaException, TypeError, ValueError) as exc:
            remedy = "the names and values are librdkafka's own: see its CONFIGURATION.md"
            raise ConfigError(f"sink.kafka: {text_of(exc)}", remedy=remedy) from exc

    def read(self, topics: Sequence[str]) -> dict[str, Facts]:
        """Asks for each by its name, in a way that makes no broker create it."""
        if not topics:
            return {}
        described = self._answers(
            self._admin.describe_topics(TopicCollection(list(topics)), request_timeout=_READ_SECONDS), _READ_SECONDS
        )
        absent = {topic: _absence(answer) for topic, answer in described.items() if isinstance(answer, KafkaError)}
        properties = self._read_properties([topic for topic in topics if topic not in absent])
        return absent | {topic: _facts(described[topic], known) for topic, known in properties.items()}

    def carry_out(self, steps: Sequence[Step], *, rehearse: bool = False) -> list[Obstacle | None]:
        """None for what is done, or would be: a rehearsal has the brokers check everything and changes nothing."""
        options = {"request_timeout": _CHANGE_SECONDS, "validate_only": rehearse}
        asked = {place: self._ask_for(step, options) for place, step in enumerate(steps)}
        answers = self._wait(asked, _CHANGE_SECONDS + 1)
        return [_outcome(step, answers[place]) for place, step in enumerate(steps)]

    def _ask_for(self, step: Step, options: dict[str, Any]) -> Future[Any]:
        match step:
            case CreateTopic(topic=topic):
                return self._admin.create_topics([_new_topic(step)], **options)[topic]
            case AddPartitions(topic=topic, after=after):
                return self._admin.create_partitions([NewPartitions(topic, after)], **options)[topic]
            case AlterProperties():
                resource = _altered(step)
                return self._admin.incremental_alter_configs([resource], **options)[resource]

    def _read_properties(self, topics: Sequence[str]) -> dict[str, dict[str, str] | None]:
        """None for a topic whose properties we may not read."""
        resources = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in topics]
        if not resources:
            return {}
        asked = self._admin.describe_configs(resources, request_timeout=_READ_SECONDS)
        answers = self._answers({resource.name: future for resource, future in asked.items()}, _READ_SECONDS)
        return {topic: _values(answer) for topic, answer in answers.items()}

    def _answers(self, asked: Mapping[_Key, Future[Any]], seconds: float) -> dict[_Key, Any]:
        """Of questions that every broker answers: no answer means that there is no cluster to work with."""
        answers = self._wait(asked, seconds + 1)
        for answer in answers.values():
            if isinstance(answer, KafkaError) and answer.name() not in (*_UNKNOWN, *NO_RIGHT):
                raise self._away(answer)
        return answers

    def _wait(self, asked: Mapping[_Key, Future[Any]], seconds: float) -> dict[_Key, Any]:
        """What each came to. Errors are not raised: a future would keep the traceback, and that the client."""
        deadline = time.monotonic() + seconds
        open_count = len(asked)
        while open_count and time.monotonic() < deadline:
            open_count = len(wait(asked.values(), _TURN_SECONDS).not_done)
            self._admin.poll(0)  # serves error_cb: the cause of a silence comes nowhere else
            if self._is_refused():
                deadline = min(deadline, time.monotonic() + _REFUSED_SECONDS)
        return {key: _result(future) for key, future in asked.items()}

    def _is_refused(self) -> bool:
        return self._complaint is not None and self._complaint.code() in _WRONG_CREDENTIALS

    def _away(self, answer: KafkaError) -> RelayError:
        if self._complaint is not None and self._is_refused():
            remedy = "check the security settings under sink.kafka: protocol, mechanism, user, password, certificates"
            return RefusedError(f"Kafka refuses to let us in: {self._complaint.str()}", remedy=remedy)
        cause = (self._complaint or answer).str()
        remedy = "check sink.kafka bootstrap.servers, security settings, and that the brokers run"
        return AwayError(f"Kafka does not answer: {cause}", remedy=remedy)

    def _on_error(self, error: KafkaError) -> None:
        is_summary = error.code() == KafkaError._ALL_BROKERS_DOWN
        if self._complaint is None or not (is_summary or self._is_refused()):
            self._complaint = error


def _result(future: Future[Any]) -> Any:
    if not future.done():
        return KafkaError(KafkaError._TIMED_OUT)
    failure = future.exception()
    if failure is None:
        return future.result()
    error = failure.args[0] if failure.args else None
    return error if isinstance(error, KafkaError) else KafkaError(KafkaError._FAIL, str(failure))


def _outcome(step: Step, answer: object) -> Obstacle | None:
    return explain(step, answer.name(), answer.str()) if isinstance(answer, KafkaError) else None


def _absence(error: KafkaError) -> Absence:
    return Absence.MISSING if error.name() in _UNKNOWN else Absence.HIDDEN


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
