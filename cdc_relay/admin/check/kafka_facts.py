"""What the brokers say of themselves and of the topics that we need. Asks; creates and judges nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from confluent_kafka import KafkaError, TopicCollection
from confluent_kafka.admin._acl import AclOperation
from confluent_kafka.admin._config import ConfigResource

from cdc_relay.admin.kafka_admin import UNKNOWN_TOPIC, KafkaAdmin
from cdc_relay.admin.topics_plan import Absence
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
    admin = KafkaAdmin(properties)
    try:
        brokers = _read_brokers(admin)
        return Cluster(brokers, _read_auto_creation(admin, brokers), _read_topics(admin, topics))
    except RelayError as exc:
        return Refusal(_name_of(admin), exc)
    finally:
        admin.close()


def _name_of(admin: KafkaAdmin) -> str:
    if not admin.is_refused or admin.complaint is None:
        return "kafka.reachable"
    return "kafka.tls" if admin.complaint.name() in _TLS else "kafka.authentication"


def _read_brokers(admin: KafkaAdmin) -> tuple[int, ...]:
    asked = {"cluster": admin.client.describe_cluster(request_timeout=_SECONDS)}
    return tuple(sorted(node.id for node in admin.answers(asked, _SECONDS)["cluster"].nodes))


def _read_auto_creation(admin: KafkaAdmin, brokers: Sequence[int]) -> bool | None:
    known = _read_configs(admin, ConfigResource.Type.BROKER, [str(broker) for broker in brokers[:1]])
    settings = next(iter(known.values()), None) or {}
    value = settings.get("auto.create.topics.enable")
    return None if value is None else value == "true"


def _read_topics(admin: KafkaAdmin, topics: Sequence[str]) -> dict[str, State]:
    """Asked for by name, in a way that makes no broker create them."""
    if not topics:
        return {}
    asked = admin.client.describe_topics(
        TopicCollection(list(topics)), include_authorized_operations=True, request_timeout=_SECONDS
    )
    described = admin.answers(asked, _SECONDS)
    there = [topic for topic, answer in described.items() if not isinstance(answer, KafkaError)]
    configs = _read_configs(admin, ConfigResource.Type.TOPIC, there)
    return {topic: _state(described[topic], configs.get(topic)) for topic in topics}


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


def _state(answer: Any, properties: Mapping[str, str] | None) -> State:
    if isinstance(answer, KafkaError):
        return Absence.MISSING if answer.name() in UNKNOWN_TOPIC else Absence.HIDDEN
    allowed = answer.authorized_operations
    return TopicState(
        partitions=tuple(_partition(each) for each in answer.partitions),
        may_write=AclOperation.WRITE in allowed if allowed else None,
        properties=properties,
    )


def _partition(described: Any) -> Partition:
    leader = described.leader
    return Partition(
        id=described.id,
        leader=None if leader is None or leader.id < 0 else leader.id,
        replicas=tuple(node.id for node in described.replicas),
        in_sync=tuple(node.id for node in described.isr),
    )
