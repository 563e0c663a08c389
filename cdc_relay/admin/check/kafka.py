"""The Kafka part of `check`: reads the facts, has them judged. Changes nothing, and makes no broker create a topic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cdc_relay.admin.check.finding import Finding, ok, warn
from cdc_relay.admin.check.kafka_commands import Commands
from cdc_relay.admin.check.kafka_facts import Cluster, Refusal, TopicState, read_cluster
from cdc_relay.admin.check.lines import as_own, failure
from cdc_relay.admin.check.payload_facts import Largest, read_largest
from cdc_relay.admin.check.topic_rules import judge_topic
from cdc_relay.admin.topics_wanted import WantedTopics, wanted_topics_of
from cdc_relay.config import RelayConfig
from cdc_relay.parking.desk_text import size
from cdc_relay.routing.router import Outbox
from cdc_relay.sources.remedy import Step, words, yaml_lines
from cdc_relay.target import conninfo_of, wanted_of

__all__ = ["check_kafka", "judge_payloads"]

_MOCK = "test.mock.num.brokers"
_DEFAULT_BYTES = "1000000"  # librdkafka's own, of both properties
_AROUND_BYTES = 1024  # key, headers and the batch around them


def check_kafka(config: RelayConfig) -> Iterator[Finding]:
    properties = config.sink.kafka
    if properties is None or _MOCK in properties:  # a mock cluster is one per client: there is nothing to look at
        return
    wanted, outboxes = wanted_topics_of(config), wanted_of(config).outboxes
    cluster = read_cluster(properties, wanted.names)
    yield from _judge_templates(outboxes)
    if isinstance(cluster, Refusal):
        yield failure(cluster.name, cluster.error)
        return
    yield ok("kafka.reachable", f"{len(cluster.brokers)} broker{'s'[: len(cluster.brokers) != 1]}")
    yield from _judge_topics(cluster, wanted, properties)
    conninfo = as_own(conninfo_of(config), config.source.slot)
    largest = [read_largest(conninfo, box) for box in outboxes if box.message_prefix is None]
    yield from judge_payloads(largest, cluster, properties)


def _judge_topics(cluster: Cluster, wanted: WantedTopics, properties: Mapping[str, str]) -> Iterator[Finding]:
    batch_bytes = int(properties.get("batch.size", _DEFAULT_BYTES))
    commands = Commands.of(properties)
    for topic in wanted.names:
        named_by = wanted.unmanaged.get(topic, "")
        yield from judge_topic(topic, cluster, named_by=named_by, batch_bytes=batch_bytes, commands=commands)


def _judge_templates(outboxes: Sequence[Outbox]) -> Iterator[Finding]:
    routes = [route for outbox in outboxes for route in outbox.routes if not (route.drop or route.topic.is_fixed)]
    names = list(dict.fromkeys(str(route.topic) for route in routes))
    if names:
        yield ok("kafka.topics_by_row", f"not looked at: {', '.join(names)}")


def judge_payloads(largest: Sequence[Largest], cluster: Cluster, properties: Mapping[str, str]) -> Iterator[Finding]:
    for each in largest:
        if each.byte_count is None:
            yield ok("kafka.payload_size", f"{each.table}: not known ({each.trouble})")
        else:
            yield _judge_payload(each.table, each.byte_count, cluster, properties)


def _judge_payload(table: str, byte_count: int, cluster: Cluster, properties: Mapping[str, str]) -> Finding:
    name, found = "kafka.payload_size", f"{table}: up to {size(byte_count)}"
    needed = byte_count + _AROUND_BYTES
    ours = int(properties.get("message.max.bytes", _DEFAULT_BYTES))
    tight = [topic for topic, limit in _limits(cluster).items() if limit < needed]
    steps: tuple[Step, ...] = ()
    if ours < needed:
        found += f"; message.max.bytes of the producer is {size(ours)}"
        steps = (yaml_lines(f"sink: {{kafka: {{message.max.bytes: {needed}}}}}"),)
    commands = Commands.of(properties)
    for topic in tight:
        found += f"; max.message.bytes of {topic} is {size(_limits(cluster)[topic])}"
        steps += (words(f"where they go to {topic}:"), *commands.set_property(topic, "max.message.bytes", needed))
    return warn(name, found, *steps) if steps else ok(name, found)


def _limits(cluster: Cluster) -> dict[str, int]:
    limits: dict[str, int] = {}
    for topic, state in cluster.topics.items():
        value = (state.properties or {}).get("max.message.bytes", "") if isinstance(state, TopicState) else ""
        if value.isdecimal():
            limits[topic] = int(value)
    return limits
