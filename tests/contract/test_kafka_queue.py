"""What the Kafka client does with records until they are sent: its queue, its batches, and the partition of a key."""

from __future__ import annotations

import time

import pytest

from cdc_relay.sinks import kafka as kafka_module
from tests.contract.sinks import PARTITION_COUNT, KafkaBench, by_key, collect, record, ticket

# org.apache.kafka.common.utils.UtilsTest.testMurmur2
MURMUR2 = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


# --- a queue smaller than the window


@pytest.mark.parametrize("limit", [{"queue_buffering_max_messages": "10"}, {"queue_buffering_max_kbytes": "1"}])
def test_a_small_queue_loses_nothing_and_keeps_the_order(brokers: KafkaBench, limit: dict[str, str]) -> None:
    """Sizes differ, so that a small record would fit where a large one before it still waits for room."""
    sink, topic = brokers.make_sink(**limit), brokers.make_topic()
    tickets = [ticket() for _ in range(300)]
    values = [b"%04d" % number + b"." * (number % 5 * 90) for number in range(300)]
    for number, each in enumerate(tickets):
        sink.publish(record(topic, b"k%d" % (number % 3), values[number]), each)
    reports = collect(sink, len(tickets))
    assert sorted(reports.delivered, key=lambda each: each.position) == tickets
    assert reports.failed == []
    assert by_key(brokers.read(topic, len(tickets))) == {b"k%d" % key: values[key::3] for key in range(3)}


def test_what_waits_for_room_in_the_queue_is_forgotten_too(brokers: KafkaBench) -> None:
    sink, topic = brokers.make_sink(queue_buffering_max_messages="10"), brokers.make_topic()
    for _ in range(100):
        sink.publish(record(topic, value=b"forgotten"), ticket())
    sink.reset()
    given = ticket()
    sink.publish(record(topic), given)
    assert collect(sink, 1) == ([given], [])
    assert sink.flush(0.3) == ([], [])


def test_a_record_larger_than_the_whole_queue_fails_instead_of_waiting_for_ever(brokers: KafkaBench) -> None:
    sink, topic = brokers.make_sink(queue_buffering_max_kbytes="1"), brokers.make_topic()
    large, small = ticket(), ticket()
    sink.publish(record(topic, value=bytes(5000)), large)
    sink.publish(record(topic), small)
    reports = collect(sink, 2, timeout=5)
    assert [each.slip for each in reports.failed] == [large]
    assert reports.delivered == [small]


def test_what_waits_for_room_in_the_queue_is_taken_back_too(brokers: KafkaBench) -> None:
    sink, topic = brokers.make_sink(queue_buffering_max_messages="10"), brokers.make_topic()
    tickets = [ticket() for _ in range(100)]
    for each in tickets:
        sink.publish(record(topic), each)
    reports, purged = sink.empty()
    assert sorted([*reports.delivered, *(slip for slip, _ in purged)], key=lambda each: each.position) == tickets
    assert len(purged) >= 90
    assert sink.flush(0.2) == ([], [])


# --- batches


def test_flush_sends_at_once_what_waits_to_fill_a_batch(brokers: KafkaBench) -> None:
    sink, topic = brokers.make_sink(linger_ms="600000"), brokers.make_topic()
    given = ticket()
    sink.publish(record(topic), given)
    assert sink.poll(0.2) == ([], [])
    assert collect(sink, 1, timeout=30).delivered == [given]


def test_flush_does_not_wait_for_a_second_producer_that_has_nothing_out(brokers: KafkaBench) -> None:
    sink, topic = brokers.make_sink(), brokers.make_topic()
    sink.publish_alone(record(topic), ticket())
    collect(sink, 1)
    started = time.monotonic()
    assert sink.flush(30) == ([], [])
    assert time.monotonic() - started < 5


def test_the_second_producer_goes_when_nobody_needs_it(brokers: KafkaBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_module, "_ALONE_IDLE_SECONDS", 0)
    sink, topic = brokers.make_sink(), brokers.make_topic()
    for _ in range(3):
        given = ticket()
        sink.publish_alone(record(topic), given)
        assert collect(sink, 1).delivered == [given]
        sink.poll(0)
        assert sink._alone is None


def test_what_travelled_alone_is_forgotten_by_a_reset(brokers: KafkaBench) -> None:
    sink, topic = brokers.make_sink(), brokers.make_topic()
    for _ in range(50):
        sink.publish_alone(record(topic, value=b"forgotten"), ticket())
    sink.reset()
    given = ticket()
    sink.publish_alone(record(topic), given)
    assert collect(sink, 1) == ([given], [])
    assert sink.flush(0.3) == ([], [])


# --- where a key goes


def test_a_key_goes_to_the_partition_that_java_would_choose(brokers: KafkaBench) -> None:
    sink, topic = brokers.make_sink(), brokers.make_topic()
    for key in MURMUR2:
        sink.publish(record(topic, key), ticket())
    assert len(collect(sink, len(MURMUR2)).delivered) == len(MURMUR2)
    partitions = {each.key: each.partition for each in brokers.read(topic, len(MURMUR2))}
    assert partitions == {key: (hashed & 0x7FFFFFFF) % PARTITION_COUNT for key, hashed in MURMUR2.items()}


def test_records_without_a_key_are_spread(brokers: KafkaBench) -> None:
    sink, topic = brokers.make_sink(sticky_partitioning_linger_ms="0"), brokers.make_topic()
    for _ in range(200):
        sink.publish(record(topic, None), ticket())
    collect(sink, 200)
    assert len({each.partition for each in brokers.read(topic, 200)}) > 1
