"""Asks the cluster how it is, and how a topic is. Blocks within limits: called on the helper thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclOperation
from confluent_kafka.admin._config import ConfigEntry, ConfigResource
from confluent_kafka.admin._metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from confluent_kafka.admin._topic import TopicDescription

from cdc_relay.delivery.failures import judge
from cdc_relay.errors import AwayError
from cdc_relay.model import Failure
from cdc_relay.sinks.producer import Producer
from cdc_relay.sinks.producers import admin_properties, text_of

__all__ = ["probe_cluster", "probe_topic"]

_PROBE_SECONDS = 5.0


def probe_cluster(producer: Producer) -> None:
    _ask(producer)


def probe_topic(topic: str, *, producers: Sequence[Producer], properties: Mapping[str, str]) -> Failure | None:
    """Every producer is asked: until then it goes on refusing a topic that it once knew as missing or forbidden."""
    answers = [_ask(producer, topic).topics.get(topic) for producer in producers]
    known = answers[0]
    if known is None:
        return judge("UNKNOWN_TOPIC_OR_PART", "the cluster does not mention the topic")
    if known.error is not None:
        return judge(known.error.name(), known.error.str())
    return _find_leaderless(known) or _Desk(topic, properties).examine(known)


def _ask(producer: Producer, topic: str | None = None) -> ClusterMetadata:
    """Of the topic alone where there is one: a broker that may create it does so, as with a record."""
    try:
        return producer.list_topics(topic, timeout=_PROBE_SECONDS)
    except KafkaException as exc:
        raise AwayError(
            f"Kafka does not answer: {text_of(exc)}",
            remedy="check sink.kafka bootstrap.servers, security settings, and that the brokers run",
        ) from exc


def _find_leaderless(topic: TopicMetadata) -> Failure | None:
    for number, partition in sorted(topic.partitions.items()):
        if partition.leader < 0:
            return judge("LEADER_NOT_AVAILABLE", f"partition {number} has no leader")
    return None


class _Desk:
    """What only an administrator's client can ask. To lack the right of asking says nothing against the topic."""

    def __init__(self, topic: str, properties: Mapping[str, str]) -> None:
        self._topic = topic
        self._admin = AdminClient({**admin_properties(properties)})

    def examine(self, topic: TopicMetadata) -> Failure | None:
        return self._find_missing_right() or self._find_missing_replicas(list(topic.partitions.values()))

    def _find_missing_right(self) -> Failure | None:
        asked = self._admin.describe_topics(
            TopicCollection([self._topic]), include_authorized_operations=True, request_timeout=_PROBE_SECONDS
        )
        described: TopicDescription | None = _answer(asked[self._topic])
        if described is None or not described.authorized_operations:
            return None
        if AclOperation.WRITE in described.authorized_operations:
            return None
        return judge("TOPIC_AUTHORIZATION_FAILED", "the relay's principal may not write to the topic")

    def _find_missing_replicas(self, partitions: Sequence[PartitionMetadata]) -> Failure | None:
        short = [each for each in partitions if len(each.isrs) < len(each.replicas)]
        needed = self._min_in_sync() if short else None
        if needed is None:
            return None
        for each in short:
            if len(each.isrs) < min(needed, len(each.replicas)):  # as brokers see it: never more than there are
                return judge("NOT_ENOUGH_REPLICAS", _shortage(each, needed))
        return None

    def _min_in_sync(self) -> int | None:
        resource = ConfigResource(ConfigResource.Type.TOPIC, self._topic)
        asked = self._admin.describe_configs([resource], request_timeout=_PROBE_SECONDS)
        config: dict[str, ConfigEntry] = _answer(asked[resource]) or {}
        entry = config.get("min.insync.replicas")
        return int(entry.value) if entry is not None and entry.value else None


def _answer(asked: Future[Any]) -> Any:
    """None where the cluster does not tell. Not raised: the future would keep the traceback, and that the client."""
    done, _ = wait([asked], _PROBE_SECONDS + 1)
    return asked.result() if done and asked.exception() is None else None


def _shortage(partition: PartitionMetadata, needed: int) -> str:
    return f"partition {partition.id} has {len(partition.isrs)} replicas in sync, and min.insync.replicas is {needed}"
