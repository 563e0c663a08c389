"""What Kafka refuses fails alone, with its remedy, and everything else arrives."""

from __future__ import annotations

import pytest

from cdc_relay.model import ErrorClass
from tests.contract.sinks import PARTITION_COUNT, KafkaBench, collect, record, ticket
from tests.fixtures.fix_kafka import MakeKafka
from tests.fixtures.kafka_broker import Kafka


def test_a_record_too_large_for_the_client_fails_and_nothing_else(brokers: KafkaBench) -> None:
    sink, topic = brokers.make_sink(message_max_bytes="20000"), brokers.make_topic()
    small, large = [ticket(), ticket()], ticket()
    sink.publish(record(topic, value=b"1"), small[0])
    sink.publish(record(topic, value=bytes(30_000)), large)
    sink.publish(record(topic, value=b"2"), small[1])
    reports = collect(sink, 3)
    assert reports.delivered == small
    [(failed, _, failure, _)] = reports.failed
    assert failed == large
    assert (failure.code, failure.error_class) == ("too_large_for_producer", ErrorClass.PERMANENT)
    assert "message.max.bytes" in failure.remedy
    assert [each.value for each in brokers.read(topic, 2)] == [b"1", b"2"]


@pytest.mark.kafka
@pytest.mark.real_kafka
def test_a_record_too_large_for_the_topic_fails_and_the_producer_lives(kafka: Kafka) -> None:
    bench = KafkaBench(kafka)
    sink, topic = bench.make_sink(), bench.make_topic(max_message_bytes="20000")
    first, large, last = ticket(), ticket(), ticket()
    sink.publish(record(topic, value=b"1"), first)
    assert collect(sink, 1).delivered == [first]
    sink.publish(record(topic, value=bytes(30_000)), large)
    [(failed, _, failure, _)] = collect(sink, 1).failed
    assert (failed, failure.code) == (large, "MSG_SIZE_TOO_LARGE")
    sink.publish(record(topic, value=b"2"), last)
    assert collect(sink, 1) == ([last], [])
    assert [each.value for each in bench.read(topic, 2)] == [b"1", b"2"]
    bench.close()


@pytest.mark.kafka
@pytest.mark.real_kafka
def test_a_record_for_an_unknown_topic_fails_with_the_remedy_and_others_arrive(make_kafka: MakeKafka) -> None:
    bench = KafkaBench(make_kafka(**{"auto.create.topics.enable": False}))
    sink, topic = bench.make_sink(topic_metadata_propagation_max_ms="500"), bench.make_topic()
    good, lost = ticket(), ticket()
    sink.publish(record("no-such-topic"), lost)
    sink.publish(record(topic), good)
    reports = collect(sink, 2)
    assert reports.delivered == [good]
    [(failed, _, failure, _)] = reports.failed
    assert failed == lost
    assert failure.code in ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC")
    assert "create the topic" in failure.remedy
    bench.close()


def test_a_partition_that_the_topic_lacks_fails_with_the_remedy(brokers: KafkaBench) -> None:
    sink, topic = brokers.make_sink(), brokers.make_topic()
    sink.publish(record(topic, partition=0), ticket())
    assert len(collect(sink, 1).delivered) == 1  # the client knows the partitions by now
    lost = ticket()
    sink.publish(record(topic, partition=PARTITION_COUNT + 10), lost)
    [(failed, _, failure, _)] = collect(sink, 1).failed
    assert (failed, failure.code) == (lost, "_UNKNOWN_PARTITION")
    assert "partitions" in failure.remedy


@pytest.mark.kafka
@pytest.mark.real_kafka
def test_a_record_that_a_compacted_topic_refuses_says_why(kafka: Kafka) -> None:
    bench = KafkaBench(kafka)
    sink, topic = bench.make_sink(), bench.make_topic(cleanup_policy="compact")
    sink.publish(record(topic, key=None), ticket())
    [(_, _, failure, _)] = collect(sink, 1).failed
    assert failure.code == "INVALID_RECORD"
    assert "needs a key" in failure.remedy
    bench.close()


@pytest.mark.parametrize("wrong", [{"partition": 2**40}, {"timestamp_ms": 2**70}])
def test_a_record_that_the_client_cannot_even_take_is_refused_for_good(
    brokers: KafkaBench, wrong: dict[str, int]
) -> None:
    sink, topic = brokers.make_sink(), brokers.make_topic()
    bad, good = ticket(), ticket()
    sink.publish(record(topic)._replace(**wrong), bad)  # type: ignore[arg-type]  # one of its numbers
    sink.publish(record(topic), good)
    reports = collect(sink, 2)
    assert [(each.slip, each.failure.code) for each in reports.failed] == [(bad, "_INVALID_ARG")]
    assert reports.delivered == [good]
