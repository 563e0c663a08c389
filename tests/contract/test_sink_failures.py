"""How real brokers refuse: what comes back for which fault, and that the right records, and only they, are named.

docs/failures.md tells the same to operators.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import pytest

from cdc_relay.errors import SinkError
from cdc_relay.model import Action, ErrorClass, Record, Scope
from cdc_relay.sinks.kafka import KafkaSink
from cdc_relay.sinks.sink import Reject, Reports, TopicLimits
from tests.contract.sinks import KafkaBench, claim, collect, record, ticket
from tests.fixtures.fix_kafka import MakeCluster, MakeKafka
from tests.fixtures.kafka_broker import Kafka, KafkaBroker
from tests.fixtures.process import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]


@pytest.fixture
def bench(kafka: Kafka) -> Iterator[KafkaBench]:
    kafka_bench = KafkaBench(kafka)
    yield kafka_bench
    kafka_bench.close()


@pytest.fixture
def strict_broker(make_kafka: MakeKafka) -> KafkaBroker:
    """Creates no topics by itself, and lets `relay` do only what it is granted."""
    return make_kafka(users=["relay"], **{"auto.create.topics.enable": False})


def send(sink: KafkaSink, *records: Record, timeout: float = 60) -> Reports:
    for each in records:
        sink.publish(each, ticket(each))
    return collect(sink, len(records), timeout=timeout)


def send_alone(sink: KafkaSink, *records: Record) -> Reports:
    for each in records:
        sink.publish_alone(each, ticket(each))
    return collect(sink, len(records))


def is_well(sink: KafkaSink, topic: str) -> bool:
    return sink.probe_topic(topic) is None


def only(reports: Reports) -> Reject:
    assert reports.delivered == []
    [reject] = reports.failed
    return reject


# --- batches


def test_one_keyless_record_fails_its_batch_and_alone_only_itself(bench: KafkaBench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic(cleanup_policy="compact")
    records = [record(topic, None if number == 4 else b"k", b"%d" % number, partition=0) for number in range(10)]
    together = send(sink, *records)
    assert {each.failure.code for each in together.failed} <= {"INVALID_RECORD", "_INVALID_DIFFERENT_RECORD"}
    assert [each.record for each in together.failed] == records  # in order, as they were handed out
    alone = send_alone(sink, *records)
    [culprit] = alone.failed
    assert (len(alone.delivered), culprit.record, culprit.was_alone) == (9, records[4], True)
    assert (culprit.failure.action, culprit.failure.error_class) == (Action.PARK, ErrorClass.PERMANENT)


def test_records_that_are_too_large_together_are_delivered_alone(bench: KafkaBench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic(max_message_bytes="20000")
    records = [record(topic, b"k", bytes(1000)) for _ in range(200)]
    together = send(sink, *records)
    assert {each.failure.action for each in together.failed} == {Action.RESEND_ALONE}
    alone = send_alone(sink, *(each.record for each in together.failed))
    assert alone.failed == []


def test_a_record_too_large_for_its_topic_is_found_alone_and_may_be_retried(bench: KafkaBench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic(max_message_bytes="20000")
    failure = only(send_alone(sink, record(topic, b"k", bytes(30_000)))).failure
    assert (failure.code, failure.action, failure.error_class) == (
        "MSG_SIZE_TOO_LARGE",
        Action.PARK,
        ErrorClass.TRANSIENT,
    )


def test_a_time_that_the_topic_refuses_is_a_verdict_on_the_batch(bench: KafkaBench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic(message_timestamp_after_max_ms="1000")
    tomorrow = time.time_ns() // 1_000_000 + 86_400_000
    records = [record(topic, b"k"), record(topic, b"k", timestamp_ms=tomorrow), record(topic, b"k")]
    together = send(sink, *records)
    assert [each.failure.code for each in together.failed] == ["INVALID_TIMESTAMP"] * 3
    assert [each.record for each in together.failed] == records
    assert [each.record for each in send_alone(sink, *records).failed] == [records[1]]


@pytest.mark.parametrize("key", [b"", b"\x00k", b"k"])
@pytest.mark.parametrize("value", [None, b"", b"v" * 30_000])
def test_a_rejected_record_comes_back_as_it_was_handed_out(bench: KafkaBench, key: bytes, value: bytes | None) -> None:
    sink, topic = bench.make_sink(), bench.make_topic(message_timestamp_before_max_ms="1000")
    headers: list[tuple[str, bytes | None]] = [("id", b"\xff"), ("id", None), ("empty", b"")]
    given = record(topic, key, value, headers=headers, timestamp_ms=946_684_800_001)
    assert only(send(sink, given)).record == given
    slip = claim(given)
    sink.publish(given, slip)
    assert only(collect(sink, 1))[:2] == (slip, given)


# --- records


@pytest.mark.parametrize(
    ("name", "code"), [("not legal!", "TOPIC_EXCEPTION"), ("x" * 300, "TOPIC_EXCEPTION"), ("x" * 600, "_INVALID_ARG")]
)
def test_an_illegal_topic_name_is_the_record_s_fault_for_good(bench: KafkaBench, name: str, code: str) -> None:
    failure = only(send(bench.make_sink(), record(name))).failure
    assert (failure.code, failure.action, failure.error_class) == (code, Action.PARK, ErrorClass.PERMANENT)


def test_a_partition_that_was_asked_for_and_is_missing_is_the_record_s_fault(bench: KafkaBench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic()
    send(sink, record(topic))
    failure = only(send(sink, record(topic, partition=99))).failure
    assert (failure.code, failure.scope) == ("_UNKNOWN_PARTITION", Scope.RECORD)


# --- topics


def test_a_missing_topic_is_told_within_seconds_and_found_by_the_probe_when_it_is_there(
    strict_broker: KafkaBroker,
) -> None:
    bench = KafkaBench(strict_broker)
    sink = bench.make_sink()
    began = time.monotonic()
    first = only(send(sink, record("late")))
    assert 1 < time.monotonic() - began < 20  # librdkafka's own default would be 30 s
    assert (first.failure.code, first.failure.action) == ("UNKNOWN_TOPIC_OR_PART", Action.CLOSE_TOPIC)
    again = only(send(sink, record("late")))  # by an exception now
    assert (again.failure.code, again.failure.action) == ("_UNKNOWN_TOPIC", Action.CLOSE_TOPIC)
    found = sink.probe_topic("late")
    assert found is not None
    assert found.code == "UNKNOWN_TOPIC_OR_PART"
    strict_broker.create_topic("late")
    wait_until(lambda: sink.probe_topic("late") is None, timeout=30, what="the probe finds the topic")
    assert len(send(sink, record("late")).delivered) == 1
    bench.close()


def test_a_topic_deleted_while_producing_is_a_missing_topic(strict_broker: KafkaBroker) -> None:
    bench = KafkaBench(strict_broker)
    sink = bench.make_sink()
    strict_broker.create_topic("doomed")
    strict_broker.create_topic("other")
    assert len(send(sink, record("doomed"), record("other")).delivered) == 2
    strict_broker.delete_topic("doomed")
    reports = send(sink, record("doomed"), record("other"), record("doomed"))
    assert [each.topic for each in reports.delivered] == ["other"]
    actions = {each.failure.action for each in reports.failed}
    assert actions <= {Action.CLOSE_TOPIC, Action.HOLD}  # the producer may lose its handle of the broker meanwhile
    strict_broker.create_topic("doomed")
    wait_until(lambda: sink.probe_topic("doomed") is None, timeout=30, what="the probe finds the topic")
    assert len(send(sink, record("doomed")).delivered) == 1
    bench.close()


@pytest.mark.parametrize("rights", [[], ["describe"]], ids=["no right at all", "describe only"])
def test_a_topic_without_the_right_to_write_is_told_at_once_and_takes_records_after_the_grant(
    strict_broker: KafkaBroker, rights: list[str]
) -> None:
    for topic in ("open", "shut"):
        strict_broker.create_topic(topic)
    strict_broker.grant("relay", "write", "open")
    for right in rights:
        strict_broker.grant("relay", right, "shut")
    sink = KafkaSink(strict_broker.credentials("relay"))
    reports = send(sink, record("open"), record("shut"))
    assert [each.topic for each in reports.delivered] == ["open"]
    [reject] = reports.failed
    assert (reject.failure.code, reject.failure.action) == ("TOPIC_AUTHORIZATION_FAILED", Action.CLOSE_TOPIC)
    found = sink.probe_topic("shut")
    assert found is not None
    assert (found.code, found.remedy) == (reject.failure.code, reject.failure.remedy)
    strict_broker.grant("relay", "write", "shut")
    wait_until(lambda: sink.probe_topic("shut") is None, timeout=30, what="the probe sees the right")
    assert len(send(sink, record("shut")).delivered) == 1
    sink.close()


def test_a_topic_that_was_refused_is_open_to_records_that_travel_alone_too(strict_broker: KafkaBroker) -> None:
    """Each of the two producers remembers on its own what it was refused."""
    for topic in ("open", "shut"):
        strict_broker.create_topic(topic)
    strict_broker.grant("relay", "write", "open")
    sink = KafkaSink(strict_broker.credentials("relay"))
    assert len(send_alone(sink, record("open"), record("shut")).failed) == 1
    strict_broker.grant("relay", "write", "shut")
    wait_until(lambda: sink.probe_topic("shut") is None, timeout=30, what="the probe sees the right")
    assert len(send_alone(sink, record("shut")).delivered) == 1
    sink.close()


def test_a_principal_that_may_write_nowhere_breaks_the_producer_and_is_told_the_remedy(
    strict_broker: KafkaBroker,
) -> None:
    """Without any right to write a broker gives no producer id, and that is fatal for librdkafka."""
    strict_broker.create_topic("shut")
    sink = KafkaSink(strict_broker.credentials("relay"))
    sink.publish(record("shut"), ticket())
    with pytest.raises(SinkError, match="Cluster authorization failed") as raised:
        collect(sink, 99, timeout=30)
    assert "IdempotentWrite" in raised.value.remedy
    sink.close()


def test_too_few_replicas_and_no_leader_are_found_by_the_probe_and_others_flow(make_cluster: MakeCluster) -> None:
    """Both at once: no report ever comes of either, because librdkafka tries again for ever."""
    cluster = make_cluster()
    cluster.create_topic("well")
    cluster.create_replicated_topic("thin", [1, 2, 3], {"min.insync.replicas": "2"})
    cluster.create_replicated_topic("headless", [2, 3])
    sink = KafkaSink({"bootstrap.servers": cluster.bootstrap})
    topics = ["well", "thin", "headless"]
    assert len(send(sink, *map(record, topics)).delivered) == 3
    for node in (2, 3):
        cluster.nodes[node].kill()
    wait_until(lambda: cluster.in_sync("thin") == {1}, timeout=60, what="the cluster notices")
    reports = send(sink, *map(record, topics), timeout=5)
    assert ([each.topic for each in reports.delivered], reports.failed) == (["well"], [])
    found = {topic: sink.probe_topic(topic) for topic in topics}
    codes = {topic: failure.code if failure else None for topic, failure in found.items()}
    assert codes == {"well": None, "thin": "NOT_ENOUGH_REPLICAS", "headless": "LEADER_NOT_AVAILABLE"}
    assert {slip.topic for slip, _ in sink.empty().purged} == {"thin", "headless"}
    assert len(send(sink, record("well")).delivered) == 1
    for node in (2, 3):
        cluster.nodes[node].start()
    for topic in ("thin", "headless"):
        wait_until(partial(is_well, sink, topic), timeout=60, what=f"{topic} is well")
    assert len(send(sink, *map(record, topics)).delivered) == 3
    sink.close()


# --- what a topic refuses, before it does


def test_the_limits_of_topics_are_read_from_their_configuration(bench: KafkaBench) -> None:
    sink = bench.make_sink()
    compacted = bench.make_topic(cleanup_policy="compact", max_message_bytes="2000")
    plain = bench.make_topic(cleanup_policy="delete")
    sink.probe()
    asked = [compacted, plain, "no-such-topic"]
    wait_until(lambda: len(sink.read_limits(asked)) == 2, timeout=30, what="the cluster knows the new topics")
    limits = sink.read_limits(asked)
    assert limits[compacted] == TopicLimits(needs_key=True, batch_bytes=2000)
    assert limits[plain].needs_key is False


def test_a_probe_reads_the_limits_of_topics_that_are_known_beforehand(bench: KafkaBench) -> None:
    topic = bench.make_topic(cleanup_policy="compact")
    sink = KafkaSink({"bootstrap.servers": bench.kafka.bootstrap}, fixed_topics=[topic, "no-such-topic"])

    def are_known() -> bool:
        sink.probe()
        return topic in sink.fixed_limits

    wait_until(are_known, timeout=30, what="the cluster knows the new topic")
    assert sink.fixed_limits[topic].needs_key
    sink.close()


def test_who_may_not_read_a_topic_s_configuration_learns_nothing_and_goes_on(strict_broker: KafkaBroker) -> None:
    strict_broker.create_topic("secret")
    strict_broker.grant("relay", "write", "secret")
    sink = KafkaSink(strict_broker.credentials("relay"))
    sink.probe()
    assert sink.read_limits(["secret"]) == {}
    assert send(sink, record("secret")).failed == []
    sink.close()
