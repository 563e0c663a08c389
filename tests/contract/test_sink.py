"""The contract of a Sink, on every one there is; of Kafka a mock and a real broker."""

from __future__ import annotations

import time
from itertools import islice

import pytest
from confluent_kafka import KafkaError

from cdc_relay.sinks.sink import Slip
from tests.contract.librdkafka import refuse_produce
from tests.contract.sinks import Bench, KafkaBench, Readable, by_key, claim, collect, record, ticket
from tests.fixtures.kafka_broker import MockKafka


def numbered(count: int) -> list[bytes]:
    return [str(number).encode() for number in range(count)]


# --- every sink


def test_each_record_is_reported_delivered_exactly_once(bench: Bench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic()
    tickets = [ticket() for _ in range(500)]
    for each in tickets:
        sink.publish(record(topic), each)
    reports = collect(sink, len(tickets))
    assert sorted(reports.delivered, key=lambda each: each.position) == tickets
    assert reports.failed == []
    assert sink.flush(0.2) == ([], [])
    bench.expect(topic, len(tickets))


def test_nothing_is_reported_before_somebody_looks(bench: Bench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic()
    assert sink.poll(0) == ([], [])
    given = ticket()
    sink.publish(record(topic), given)
    assert collect(sink, 1) == ([given], [])


def test_key_value_headers_and_time_arrive_as_they_were_sent(readable: Readable) -> None:
    sink, topic = readable.make_sink(), readable.make_topic(retention_ms="-1")  # the record is old
    headers: list[tuple[str, bytes | None]] = [("id", b"\x00\xff"), ("empty", b""), ("id", b"twice"), ("none", None)]
    sink.publish(
        record(topic, b"\x00k\xff", bytes(range(256)), headers=headers, timestamp_ms=946_684_800_001), ticket()
    )
    assert len(collect(sink, 1).delivered) == 1
    [received] = readable.read(topic, 1)
    assert received[:4] == (b"\x00k\xff", bytes(range(256)), headers, 946_684_800_001)


@pytest.mark.parametrize(("key", "value"), [(None, b"v"), (b"k", None), (None, None), (b"", b""), (b"k", b"")])
def test_nothing_and_empty_are_two_things(readable: Readable, key: bytes | None, value: bytes | None) -> None:
    sink, topic = readable.make_sink(), readable.make_topic()
    sink.publish(record(topic, key, value), ticket())
    collect(sink, 1)
    [received] = readable.read(topic, 1)
    assert (received.key, received.value) == (key, value)


def test_a_named_partition_is_used(readable: Readable) -> None:
    sink, topic = readable.make_sink(), readable.make_topic()
    for partition in (2, 0, 2, 3):
        sink.publish(record(topic, partition=partition), ticket())
    assert len(collect(sink, 4).delivered) == 4
    assert sorted(each.partition for each in readable.read(topic, 4)) == [0, 2, 2, 3]


def test_records_of_one_key_stay_in_order(readable: Readable) -> None:
    sink, topic = readable.make_sink(), readable.make_topic()
    keys = [b"a", b"b", b"c", b"d", b"e"]
    for value in numbered(400):
        for key in keys:
            sink.publish(record(topic, key, value), ticket())
        sink.poll(0)
    sink.flush(30)
    assert by_key(readable.read(topic, 2000)) == dict.fromkeys(keys, numbered(400))


def test_what_was_reset_is_never_reported_and_publishing_goes_on(bench: Bench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic()
    for _ in range(200):
        sink.publish(record(topic, value=b"forgotten"), ticket())
    sink.reset()
    assert sink.poll(0) == ([], [])
    given = ticket()
    sink.publish(record(topic, value=b"kept"), given)
    assert collect(sink, 1) == ([given], [])
    assert sink.flush(0.3) == ([], [])


def test_what_is_published_after_a_reset_arrives(readable: Readable) -> None:
    sink, topic = readable.make_sink(), readable.make_topic()
    sink.publish(record(topic, value=b"forgotten"), ticket())
    sink.reset()
    sink.publish(record(topic, value=b"kept"), ticket())
    collect(sink, 1)
    assert b"kept" in [each.value for each in readable.read(topic, 1)]


def test_a_reset_of_nothing_is_nothing(bench: Bench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic()
    sink.reset()
    sink.reset()
    sink.publish(record(topic), ticket())
    assert len(collect(sink, 1).delivered) == 1


def test_a_broker_that_answers_passes_the_probe(bench: Bench) -> None:
    sink = bench.make_sink()
    sink.probe()
    assert sink.error == ""


def test_closing_with_records_open_ends_at_once(bench: Bench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic()
    for _ in range(100):
        sink.publish(record(topic), ticket())
    started = time.monotonic()
    sink.close()
    assert time.monotonic() - started < 5


def test_a_record_from_the_lot_is_reported_by_its_claim(bench: Bench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic()
    given = claim(record(topic, value=b"parked"))
    assert given.record is not None
    sink.publish(given.record, given)
    assert collect(sink, 1) == ([given], [])
    bench.expect(topic, 1)


# --- records that travel alone


def test_what_travels_alone_is_reported_like_the_rest(bench: Bench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic()
    tickets = [ticket() for _ in range(60)]
    for number, each in enumerate(tickets):
        (sink.publish if number % 3 else sink.publish_alone)(record(topic), each)
    reports = collect(sink, len(tickets))
    assert sorted(reports.delivered, key=lambda each: each.position) == tickets
    assert reports.failed == []
    bench.expect(topic, len(tickets))


def test_records_that_share_a_position_travel_alone_each_in_its_own_key(readable: Readable) -> None:
    """Those of two replays may: they have none in the WAL."""
    sink, topic = readable.make_sink(), readable.make_topic()
    given = [claim(record(topic, key, key))._replace(commit_lsn=0, ordinal=0) for key in (b"a", b"b", b"a", b"b")]
    for each in given:
        assert each.record is not None
        sink.publish_alone(each.record, each)
    assert len(collect(sink, len(given)).delivered) == len(given)


def test_records_of_one_key_that_travel_alone_stay_in_order(readable: Readable) -> None:
    sink, topic = readable.make_sink(), readable.make_topic()
    for value in numbered(100):
        sink.publish_alone(record(topic, b"k", value), ticket())
    collect(sink, 100)
    assert by_key(readable.read(topic, 100)) == {b"k": numbered(100)}


def test_records_of_one_key_that_travel_alone_stay_in_order_when_they_are_sent_again(mock_kafka: MockKafka) -> None:
    """librdkafka has a second request ready while the first is out: one that is sent again would come after it."""
    bench = KafkaBench(mock_kafka)
    sink, topic = bench.make_sink(), bench.make_topic()
    values = iter(numbered(100))
    for _ in range(5):
        refuse_produce(mock_kafka, KafkaError.REQUEST_TIMED_OUT)
        for value in islice(values, 20):
            sink.publish_alone(record(topic, b"k", value), ticket())
        collect(sink, 20)
    assert by_key(bench.read(topic, 100)) == {b"k": numbered(100)}
    bench.close()


# --- everything taken back


def test_what_is_taken_back_is_delivered_or_comes_back_as_it_was(bench: Bench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic()
    records = [record(topic, b"k", value, headers=[("n", value)]) for value in numbered(300)]
    slips: list[Slip] = [ticket(each) if number % 7 else claim(each) for number, each in enumerate(records)]
    for number, (given, slip) in enumerate(zip(records, slips, strict=True)):
        (sink.publish if number % 5 else sink.publish_alone)(given, slip)
    reports, purged = sink.empty()
    assert reports.failed == []
    returned = {slip.position: given for slip, given in purged}
    delivered = {slip.position for slip in reports.delivered}
    assert [slip.position for slip, _ in purged] == sorted(returned)
    assert delivered.isdisjoint(returned)
    assert delivered | returned.keys() == {slip.position for slip in slips}
    assert all(returned.get(slip.position, given) == given for slip, given in zip(slips, records, strict=True))


def test_publishing_goes_on_after_everything_was_taken_back(bench: Bench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic()
    for _ in range(3):
        for _ in range(200):
            sink.publish(record(topic, value=b"taken back"), ticket())
        sink.publish_alone(record(topic, value=b"taken back"), ticket())
        sink.empty()
        given = [ticket(), ticket()]
        sink.publish(record(topic, value=b"kept"), given[0])
        sink.publish_alone(record(topic, value=b"kept"), given[1])
        assert sorted(collect(sink, 2).delivered, key=lambda each: each.position) == given
        assert sink.flush(0.1) == ([], [])


def test_nothing_is_taken_back_where_nothing_is_out(bench: Bench) -> None:
    assert bench.make_sink().empty() == (([], []), [])


def test_a_topic_that_takes_records_passes_the_probe(bench: Bench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic()
    sink.publish(record(topic), ticket())
    collect(sink, 1)
    assert sink.probe_topic(topic) is None
