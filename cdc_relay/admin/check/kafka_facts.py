"""What the brokers say of themselves and of the topics that we need. Asks; creates and judges nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from confluent_kafka import KafkaError, TopicCollection
from confluent_kafka._model import TopicPartitionInfo
from confluent_kafka.admin._acl import AclOperation
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._metadata import ClusterMetadata, TopicMetadata
from confluent_kafka.admin._topic import TopicDescription

from cdc_relay.admin.kafka_admin import UNKNOWN_TOPIC, KafkaAdmin
from cdc_relay.admin.topics_plan import Absence
from cdc_relay.admin.topics_refusals import NO_RIGHT
from cdc_relay.errors import RelayError

__all__ = ["Cluster", "Partition", "Refusal", "State", "TopicState", "read_cluster"]

_SECONDS = 10.0
_TLS = ("_SSL",)


@dataclass(frozen=True, slots=True)
class Partition:
    id: int
    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicState:
    partitions: tuple[Partition, ...]
    may_write: bool | None  # None: the brokers do not say
    properties: Mapping[str, str] | None  # None: we may not read them


State: TypeAlias = TopicState | Absence


@dataclass(frozen=True, slots=True)
class Cluster:
    brokers: tuple[int, ...]
    creates_topics: bool | None  # when they are first used; None: we may not know
    topics: Mapping[str, State]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no cluster to speak of."""

    name: str  # of the finding
    error: RelayError


def read_cluster(properties: Mapping[str, str], topics: Sequence[str]) -> Cluster | Refusal:
    try:
        admin = KafkaAdmin(properties)
    except RelayError as exc:  # a property that librdkafka does not take
        return Refusal("kafka.reachable", exc)
    try:
        metadata = admin.read_metadata(_SECONDS)
        brokers, states = tuple(sorted(metadata.brokers)), _read_topics(admin, metadata, topics)
        is_missing = Absence.MISSING in states.values()
        return Cluster(brokers, _read_auto_creation(admin, brokers) if is_missing else None, states)
    except RelayError as exc:
        return Refusal(_name_of(admin), exc)
    finally:
        admin.close()


def _name_of(admin: KafkaAdmin) -> str:
    if not admin.is_refused or admin.complaint is None:
        return "kafka.reachable"
    return "kafka.tls" if admin.complaint.name() in _TLS else "kafka.authentication"


def _read_auto_creation(admin: KafkaAdmin, brokers: Sequence[int]) -> bool | None:
    known = _read_configs(admin, ConfigResource.Type.BROKER, [str(broker) for broker in brokers[:1]])
    settings = next(iter(known.values()), None) or {}
    value = settings.get("auto.create.topics.enable")
    return None if value is None else value == "true"


def _read_topics(admin: KafkaAdmin, metadata: ClusterMetadata, topics: Sequence[str]) -> dict[str, State]:
    """Asked for by name, in a way that makes no broker create them."""
    if not topics:
        return {}
    asked = admin.client.describe_topics(
        TopicCollection(list(topics)), include_authorized_operations=True, request_timeout=_SECONDS
    )
    described = admin.wait(asked, _SECONDS + 1)
    there = [topic for topic, answer in described.items() if not isinstance(answer, KafkaError)]
    configs = _read_configs(admin, ConfigResource.Type.TOPIC, there)
    return {topic: _state(described[topic], metadata.topics.get(topic), configs.get(topic)) for topic in topics}


def _read_configs(admin: KafkaAdmin, kind: Any, names: Sequence[str]) -> dict[str, dict[str, str] | None]:
    """None where we may not read them."""
    if not names:
        return {}
    resources = [ConfigResource(kind, name) for name in names]
    asked = admin.client.describe_configs(resources, request_timeout=_SECONDS)
    answers = admin.wait({resource.name: future for resource, future in asked.items()}, _SECONDS + 1)
    return {
        name: None if isinstance(answer, KafkaError) else {key: entry.value or "" for key, entry in answer.items()}
        for name, answer in answers.items()
    }


def _state(answer: Any, known: TopicMetadata | None, properties: Mapping[str, str] | None) -> State:
    if not isinstance(answer, KafkaError):
        return _described(answer, properties)
    if answer.name() in NO_RIGHT:
        return Absence.HIDDEN
    if answer.name() in UNKNOWN_TOPIC or known is None:
        return Absence.MISSING
    return _known(known)  # the brokers do not describe it: what every client is told is enough to work with


def _described(topic: TopicDescription, properties: Mapping[str, str] | None) -> TopicState:
    allowed = topic.authorized_operations
    return TopicState(
        partitions=tuple(_described_partition(each) for each in topic.partitions),
        may_write=AclOperation.WRITE in allowed if allowed else None,
        properties=properties,
    )


def _described_partition(partition: TopicPartitionInfo) -> Partition:
    leader = partition.leader
    return Partition(
        id=partition.id,
        leader=None if leader is None or leader.id < 0 else leader.id,
        replicas=tuple(node.id for node in partition.replicas),
        in_sync=tuple(node.id for node in partition.isr),
    )


def _known(topic: TopicMetadata) -> TopicState:
    partitions = (
        Partition(each.id, each.leader if each.leader >= 0 else None, tuple(each.replicas), tuple(each.isrs))
        for each in topic.partitions.values()
    )
    return TopicState(tuple(partitions), None, None)
