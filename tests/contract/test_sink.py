"""The contract of a Sink, on the fake, on librdkafka's mock cluster and on a real broker; then what only Kafka has."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import islice

import pytest
from confluent_kafka import KafkaError

from cdc_relay.errors import AwayError, SinkError
from cdc_relay.model import ErrorClass
from cdc_relay.sinks import kafka as kafka_module
from cdc_relay.sinks import probes
from cdc_relay.sinks.kafka import KafkaSink
from cdc_relay.sinks.sink import Slip
from tests.contract.sinks import (
    PARTITION_COUNT,
    Bench,
    FakeBench,
    KafkaBench,
    break_for_good,
    by_key,
    claim,
    collect,
    record,
    refuse_produce,
    ticket,
)
from tests.fixtures.fix_kafka import MakeKafka
from tests.fixtures.fix_proxy import MakeProxy
from tests.fixtures.kafka_broker import Kafka, MockKafka
from tests.fixtures.scratch import free_port

FAKE = pytest.param("fake")
MOCK = pytest.param("mock", marks=pytest.mark.kafka)
REAL = pytest.param("real", marks=[pytest.mark.kafka, pytest.mark.real_kafka])

# org.apache.kafka.common.utils.UtilsTest.testMurmur2
MURMUR2 = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.fixture(scope="module")
def mock_kafka() -> MockKafka:
    return MockKafka()


@pytest.fixture(params=[FAKE, MOCK, REAL])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    if request.param == "fake":
        yield FakeBench()
        return
    kafka_bench = KafkaBench(request.getfixturevalue({"mock": "mock_kafka", "real": "kafka"}[request.param]))
    yield kafka_bench
    kafka_bench.close()


@pytest.fixture(params=[MOCK, REAL])
def brokers(request: pytest.FixtureRequest) -> Iterator[KafkaBench]:
    kafka: Kafka = request.getfixturevalue({"mock": "mock_kafka", "real": "kafka"}[request.param])
    kafka_bench = KafkaBench(kafka)
    yield kafka_bench
    kafka_bench.close()


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
    assert len(bench.read(topic, len(tickets))) == len(tickets)


def test_nothing_is_reported_before_somebody_looks(bench: Bench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic()
    assert sink.poll(0) == ([], [])
    given = ticket()
    sink.publish(record(topic), given)
    assert collect(sink, 1) == ([given], [])


def test_key_value_headers_and_time_arrive_as_they_were_sent(bench: Bench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic(retention_ms="-1")  # the record is old
    headers: list[tuple[str, bytes | None]] = [("id", b"\x00\xff"), ("empty", b""), ("id", b"twice"), ("none", None)]
    sink.publish(
        record(topic, b"\x00k\xff", bytes(range(256)), headers=headers, timestamp_ms=946_684_800_001), ticket()
    )
    assert len(collect(sink, 1).delivered) == 1
    [received] = bench.read(topic, 1)
    assert received[:4] == (b"\x00k\xff", bytes(range(256)), headers, 946_684_800_001)


@pytest.mark.parametrize(("key", "value"), [(None, b"v"), (b"k", None), (None, None), (b"", b""), (b"k", b"")])
def test_nothing_and_empty_are_two_things(bench: Bench, key: bytes | None, value: bytes | None) -> None:
    sink, topic = bench.make_sink(), bench.make_topic()
    sink.publish(record(topic, key, value), ticket())
    collect(sink, 1)
    [received] = bench.read(topic, 1)
    assert (received.key, received.value) == (key, value)


def test_a_named_partition_is_used(bench: Bench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic()
    for partition in (2, 0, 2, 3):
        sink.publish(record(topic, partition=partition), ticket())
    assert len(collect(sink, 4).delivered) == 4
    assert sorted(each.partition for each in bench.read(topic, 4)) == [0, 2, 2, 3]


def test_records_of_one_key_stay_in_order(bench: Bench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic()
    keys = [b"a", b"b", b"c", b"d", b"e"]
    for value in numbered(400):
        for key in keys:
            sink.publish(record(topic, key, value), ticket())
        sink.poll(0)
    sink.flush(30)
    assert by_key(bench.read(topic, 2000)) == dict.fromkeys(keys, numbered(400))


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
    assert bench.read(topic, 1)


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
    assert [each.value for each in bench.read(topic, 1)] == [b"parked"]


# --- every sink: records that travel alone


def test_what_travels_alone_is_reported_like_the_rest(bench: Bench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic()
    tickets = [ticket() for _ in range(60)]
    for number, each in enumerate(tickets):
        (sink.publish if number % 3 else sink.publish_alone)(record(topic), each)
    reports = collect(sink, len(tickets))
    assert sorted(reports.delivered, key=lambda each: each.position) == tickets
    assert reports.failed == []
    assert len(bench.read(topic, len(tickets))) == len(tickets)


def test_records_of_one_key_that_travel_alone_stay_in_order(bench: Bench) -> None:
    sink, topic = bench.make_sink(), bench.make_topic()
    for value in numbered(100):
        sink.publish_alone(record(topic, b"k", value), ticket())
    collect(sink, 100)
    assert by_key(bench.read(topic, 100)) == {b"k": numbered(100)}


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


# --- every sink: everything taken back


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


# --- Kafka: what fails, fails alone


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


# --- Kafka: a queue smaller than the window


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


def test_what_waits_for_room_in_the_queue_is_taken_back_too(brokers: KafkaBench) -> None:
    sink, topic = brokers.make_sink(queue_buffering_max_messages="10"), brokers.make_topic()
    tickets = [ticket() for _ in range(100)]
    for each in tickets:
        sink.publish(record(topic), each)
    reports, purged = sink.empty()
    assert sorted([*reports.delivered, *(slip for slip, _ in purged)], key=lambda each: each.position) == tickets
    assert len(purged) >= 90
    assert sink.flush(0.2) == ([], [])


# --- Kafka: batches


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


# --- Kafka: away


@pytest.fixture
def nowhere() -> Iterator[KafkaSink]:
    sink = KafkaSink({"bootstrap.servers": f"127.0.0.1:{free_port()}"})
    yield sink
    sink.close()


def poll_until_error(sink: KafkaSink, text: str = "") -> str:
    deadline = time.monotonic() + 30
    while not (sink.error and text in sink.error) and time.monotonic() < deadline:
        assert sink.poll(0.05) == ([], [])
    return sink.error


def test_a_broker_that_is_away_fails_the_probe_within_its_time(
    nowhere: KafkaSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "_PROBE_SECONDS", 0.5)
    started = time.monotonic()
    with pytest.raises(AwayError, match="Kafka does not answer") as raised:
        nowhere.probe()
    assert time.monotonic() - started < 5
    assert "bootstrap.servers" in raised.value.remedy


def test_the_cause_of_an_outage_is_known_after_some_polls(nowhere: KafkaSink) -> None:
    assert "Connection refused" in poll_until_error(nowhere, "refused")


def test_a_summary_does_not_take_the_place_of_the_cause(nowhere: KafkaSink) -> None:
    """librdkafka says "1/1 brokers are down" after each round of failures."""
    poll_until_error(nowhere, "refused")
    nowhere._main._on_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    assert "Connection refused" in nowhere.error


def test_an_outage_fails_no_record_and_a_reset_during_it_is_quick(nowhere: KafkaSink) -> None:
    for _ in range(100):
        nowhere.publish(record("anything"), ticket())
    poll_until_error(nowhere)
    assert nowhere.flush(0.5) == ([], [])
    started = time.monotonic()
    nowhere.reset()
    assert time.monotonic() - started < 5
    assert nowhere.flush(0.2) == ([], [])


def test_everything_is_taken_back_during_an_outage(nowhere: KafkaSink) -> None:
    tickets = [ticket() for _ in range(100)]
    for number, each in enumerate(tickets):
        (nowhere.publish if number % 2 else nowhere.publish_alone)(record("anything"), each)
    poll_until_error(nowhere)
    reports, purged = nowhere.empty()
    assert reports == ([], [])
    assert [slip for slip, _ in purged] == tickets


def test_a_topic_is_not_judged_while_the_cluster_is_away(nowhere: KafkaSink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "_PROBE_SECONDS", 0.5)
    with pytest.raises(AwayError, match="Kafka does not answer"):
        nowhere.probe_topic("anything")


def test_a_complaint_is_forgotten_with_the_next_delivery(brokers: KafkaBench, make_proxy: MakeProxy) -> None:
    """Only the first contact goes through the proxy: then the brokers' own addresses are known."""
    host, _, port = brokers.kafka.bootstrap.split(",")[0].partition(":")
    proxy = make_proxy(host, int(port))
    proxy.refuse()
    sink, topic = KafkaSink({"bootstrap.servers": proxy.address}), brokers.make_topic()
    given = ticket()
    sink.publish(record(topic), given)
    assert poll_until_error(sink)
    proxy.accept()
    assert collect(sink, 1).delivered == [given]
    assert sink.error == ""
    sink.close()


def test_the_probe_may_run_beside_the_loop(brokers: KafkaBench) -> None:
    sink, topic = brokers.make_sink(), brokers.make_topic()
    errors: list[BaseException] = []

    def probe() -> None:
        try:
            for _ in range(20):
                sink.probe()
        except BaseException as exc:  # noqa: BLE001 - whatever it is, the test fails with it
            errors.append(exc)

    thread = threading.Thread(target=probe)
    thread.start()
    published: list[Slip] = []
    delivered: list[Slip] = []
    while thread.is_alive():
        published.append(ticket())
        sink.publish(record(topic), published[-1])
        delivered += sink.flush(0.01).delivered
    delivered += collect(sink, len(published) - len(delivered)).delivered
    assert errors == []
    assert sorted(delivered, key=lambda each: each.position) == published


# --- Kafka: a producer that is broken for good


def test_a_fatal_error_comes_out_of_a_poll(brokers: KafkaBench) -> None:
    sink = brokers.make_sink()
    break_for_good(sink)
    with pytest.raises(SinkError, match="planted"):
        sink.poll(1)


def test_a_fatal_error_comes_out_of_a_publish(brokers: KafkaBench) -> None:
    sink, topic = brokers.make_sink(), brokers.make_topic()
    break_for_good(sink)
    with pytest.raises(SinkError, match="Fatal error"):
        sink.publish(record(topic), ticket())


@pytest.mark.parametrize("seen_by", ["nobody", "poll", "flush", "publish", "poll and publish"])
def test_a_fatally_broken_producer_is_replaced_by_reset(brokers: KafkaBench, seen_by: str) -> None:
    sink, topic = brokers.make_sink(), brokers.make_topic()
    before, after = ticket(), ticket()
    sink.publish(record(topic, value=b"before"), before)
    assert collect(sink, 1).delivered == [before]
    sink.publish(record(topic, value=b"open"), ticket())
    break_for_good(sink)
    if "poll" in seen_by:
        with pytest.raises(SinkError):
            sink.poll(1)
    if "flush" in seen_by:
        with pytest.raises(SinkError):
            sink.flush(1)
    if "publish" in seen_by:
        with pytest.raises(SinkError):
            sink.publish(record(topic), ticket())
    sink.reset()
    sink.publish(record(topic, value=b"after"), after)
    assert collect(sink, 1) == ([after], [])
    assert {b"before", b"after"} <= {each.value for each in brokers.read(topic, 2)} | {b"open"}


def test_a_fatally_broken_producer_cannot_be_emptied_and_is_replaced_by_reset(brokers: KafkaBench) -> None:
    sink, topic = brokers.make_sink(), brokers.make_topic()
    sink.publish(record(topic), ticket())
    break_for_good(sink)
    with pytest.raises(SinkError, match="the Kafka producer broke"):
        sink.empty()
    sink.reset()
    given = ticket()
    sink.publish(record(topic), given)
    assert collect(sink, 1) == ([given], [])


def test_closing_a_fatally_broken_sink_is_quiet(brokers: KafkaBench) -> None:
    sink = KafkaSink({"bootstrap.servers": brokers.kafka.bootstrap})
    break_for_good(sink)
    sink.close()


# --- Kafka: where a key goes


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
