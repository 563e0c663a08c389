"""One topic as the brokers have it, judged. Pure: facts in, findings out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cdc_relay.admin.check.finding import Finding, fail, ok, warn
from cdc_relay.admin.check.kafka_commands import Commands
from cdc_relay.admin.check.kafka_facts import Cluster, Partition, TopicState
from cdc_relay.admin.topics_plan import Absence
from cdc_relay.parking.desk_text import size
from cdc_relay.sources.remedy import shell, words, yaml_lines

__all__ = ["judge_topic"]

_MIN_IN_SYNC = "min.insync.replicas"
_MOST_REPLICAS = 3
_SHOWN_PARTITIONS = 5
_APPLY = shell("cdc-relay topics apply -c FILE --yes")


def judge_topic(
    topic: str, cluster: Cluster, *, named_by: str, batch_bytes: int, commands: Commands
) -> Iterator[Finding]:
    """`named_by`: empty for one that `topics:` looks after."""
    state = cluster.topics[topic]
    match state:
        case Absence.MISSING:
            yield _missing(topic, cluster, named_by, commands)
        case Absence.HIDDEN:
            yield fail("kafka.topic.rights", f"{topic}: we may not even see it", *commands.allow(topic))
        case TopicState():
            bad = [*_judge_rights(topic, state, commands), *_judge_replicas(topic, state, cluster, commands)]
            bad += [*_judge_in_sync(topic, state), *_judge_batches(topic, state, batch_bytes, commands)]
            yield ok("kafka.topic", f"{topic}: {_describe(state)}")
            yield from bad


def _missing(topic: str, cluster: Cluster, named_by: str, commands: Commands) -> Finding:
    steps = commands.create(topic, brokers=len(cluster.brokers)) if named_by else (_APPLY,)
    found = f"{topic} does not exist" + (f" (named by {named_by})" if named_by else "")
    if cluster.creates_topics:
        return warn("kafka.topic", f"{found}; the brokers will make it with their defaults when it is used", *steps)
    return fail("kafka.topic", found, *steps)


def _judge_rights(topic: str, state: TopicState, commands: Commands) -> Iterator[Finding]:
    if state.may_write is False:
        found = f"{topic}: the principal of sink.kafka may not write"
        yield fail("kafka.topic.rights", found, *commands.allow(topic))


def _judge_replicas(topic: str, state: TopicState, cluster: Cluster, commands: Commands) -> Iterator[Finding]:
    fewest = min((len(each.replicas) for each in state.partitions), default=0)
    if fewest == 1 and len(cluster.brokers) > 1:
        found = f"{topic}: one replica, and there are {len(cluster.brokers)} brokers"
        yield warn("kafka.topic.replicas", found, *commands.replicate(topic, _spread(state, cluster.brokers)))
    needed = _number(state, _MIN_IN_SYNC)
    if needed is None or not fewest:
        return
    if needed > fewest:
        found = f"{topic}: {_MIN_IN_SYNC} is {needed}, and it has {fewest} replicas"
        yield fail("kafka.topic.min_isr", found, *commands.set_property(topic, _MIN_IN_SYNC, max(1, fewest - 1)))
    elif needed == 1 and fewest > 1:
        found = f"{topic}: {_MIN_IN_SYNC} is 1, and it has {fewest} replicas"
        yield warn("kafka.topic.min_isr", found, *commands.set_property(topic, _MIN_IN_SYNC, 2))


def _judge_in_sync(topic: str, state: TopicState) -> Iterator[Finding]:
    needed = _number(state, _MIN_IN_SYNC) or 1
    short = [each for each in state.partitions if each.leader is None or len(each.in_sync) < _reachable(needed, each)]
    if not short:
        return
    gone = sorted({node for each in short for node in each.replicas if node not in each.in_sync})
    places = ", ".join(str(each.id) for each in short[:_SHOWN_PARTITIONS])
    more = f" and {len(short) - _SHOWN_PARTITIONS} more" if len(short) > _SHOWN_PARTITIONS else ""
    fix = words(f"start broker {', '.join(map(str, gone))} again, or see in its log why it does not follow")
    yield fail("kafka.topic.in_sync", f"{topic}: partition {places}{more}: {_MIN_IN_SYNC} is {needed}", fix)


def _judge_batches(topic: str, state: TopicState, batch_bytes: int, commands: Commands) -> Iterator[Finding]:
    limit = _number(state, "max.message.bytes")
    if limit is not None and limit < batch_bytes:
        found = f"{topic}: max.message.bytes is {size(limit)}, and batch.size of the producer {size(batch_bytes)}"
        smaller = yaml_lines(f"sink: {{kafka: {{batch.size: {limit}}}}}")
        raised = commands.set_property(topic, "max.message.bytes", batch_bytes)
        yield warn("kafka.topic.batch_size", found, smaller, words("or give the topic larger batches:"), *raised)


def _reachable(needed: int, partition: Partition) -> int:
    """As brokers see it: never more than there are."""
    return min(needed, len(partition.replicas))


def _spread(state: TopicState, brokers: Sequence[int]) -> dict[int, list[int]]:
    """Up to three replicas, the present one first, the others in turn."""
    wanted = min(_MOST_REPLICAS, len(brokers))
    spread: dict[int, list[int]] = {}
    for each in state.partitions:
        others = [node for node in brokers if node not in each.replicas]
        turn = each.id % max(1, len(others))
        spread[each.id] = [*each.replicas, *others[turn:], *others[:turn]][:wanted]
    return spread


def _describe(state: TopicState) -> str:
    replicas = sorted({len(each.replicas) for each in state.partitions})
    count = len(state.partitions)
    shape = f"{count} partition{'s'[: count != 1]}, {'/'.join(map(str, replicas))} replica{'s'[: replicas != [1]]}"
    needed = _number(state, _MIN_IN_SYNC)
    return shape if needed is None else f"{shape}, {_MIN_IN_SYNC} {needed}"


def _number(state: TopicState, name: str) -> int | None:
    value = (state.properties or {}).get(name, "")
    return int(value) if value.isdecimal() else None
