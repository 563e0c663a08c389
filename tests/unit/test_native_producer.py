"""The compiled producer without a broker: what it refuses, what it keeps alive and for how long, and what it tells."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from cdc_relay.model import Policy, Record
from cdc_relay.sinks.librdkafka import find_native_producer
from cdc_relay.sinks.producers import producer_properties
from tests.unit.native_rig import needs_native

native_producer = pytest.importorskip("cdc_relay.native.producer", reason="the compiled part is not there")
pytestmark = [
    needs_native,
    pytest.mark.skipif(find_native_producer() is None, reason="the compiled part is not in use"),
]

NOWHERE = {"bootstrap.servers": "127.0.0.1:1"}
POLICY = Policy("orders")
LOGGER = logging.getLogger("test_native_producer")


def record(**other: Any) -> Record:
    usual = Record("orders", b"key", b"value", [("id", b"1"), ("empty", b""), ("none", None)], 7, 0, POLICY)
    return usual._replace(**other)


MANY = [(f"ce_{number}", b"%d" % number) for number in range(9)]  # so many are kept for other records

WRONG = {
    "nothing": None,
    "an empty tuple": (),
    "a plain tuple": tuple(record()),
    "no topic": record(topic=None),
    "a topic that is no text": record(topic=7),
    "a topic with a null": record(topic="with\0null"),
    "a topic that is not Unicode": record(topic="\ud800"),
    "a key of text": record(key="text"),
    "a value of text": record(value="text"),
    "a view of a value": record(value=memoryview(b"value")),
    "a time of text": record(timestamp_ms="now"),
    "a time too far": record(timestamp_ms=2**63),
    "a partition too high": record(partition=2**31),
    "headers of text": record(headers="id=1"),
    "a header that is a list": record(headers=[["id", b"1"]]),
    "a header of one": record(headers=[("id",)]),
    "a header's value of text": record(headers=[("id", "text")]),
    "a header's name that is not Unicode": record(headers=[("\ud800", b"1")]),
    "a header's name of bytes": record(headers=[(b"id", b"1")]),
    "text in one of many headers": record(headers=[*MANY, ("id", "text")]),
    "many headers, and a name that is not Unicode": record(headers=[*MANY, ("\ud800", b"1")]),
    "many headers, and a name of bytes": record(headers=[*MANY, (b"id", b"1")]),
}


def make_producer(
    fail: Callable[..., None] = lambda *_: None,
    *,
    on_error: Callable[[KafkaError], None] = lambda _: None,
    on_statistics: Callable[[str], None] | None = None,
    **properties: str,
) -> Any:  # a slip may be anything here
    kind = find_native_producer()
    assert kind is not None
    named = {name.replace("_", "."): value for name, value in properties.items()}
    given = producer_properties({**NOWHERE, **named}) | ({"log_level": "7"} if "debug" in named else {})
    return kind(given, fail=fail, on_error=on_error, on_statistics=on_statistics, logger=LOGGER)


def take_back(producer: Any) -> None:
    producer.purge(waits=True)
    for _ in range(1_000):
        producer.poll(0.05)
        if not len(producer):
            return
    pytest.fail("it was not emptied")


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_is_no_record_is_refused_and_nothing_of_it_stays(wrong: Any) -> None:
    producer, slip = make_producer(), object()
    held = sys.getrefcount(slip)
    with pytest.raises((TypeError, ValueError, OverflowError)):
        producer.hand_out(wrong, slip)
    assert sys.getrefcount(slip) == held


def test_what_comes_back_is_what_was_handed_out() -> None:
    failed: list[Any] = []
    producer = make_producer(lambda *told: failed.append(told))
    sent = [record(), record(key=None, value=None), record(key=b"", value=b"", partition=3, timestamp_ms=9)]
    for number, each in enumerate(sent):
        assert producer.hand_out(each, number) is True
    take_back(producer)
    told = {slip: (content, timestamp_ms, partition) for slip, content, timestamp_ms, partition, _ in failed}
    assert told == {number: (tuple(each[:3]), each.timestamp_ms, each.partition) for number, each in enumerate(sent)}
    assert {error.code() for *_, error in failed} == {KafkaError._PURGE_QUEUE}
    assert all(error.str() for *_, error in failed)  # also where the broker says nothing of its own
    assert producer.delivered == []


def test_slips_and_values_live_until_their_report_and_no_longer() -> None:
    producer, slip, value = make_producer(), object(), b"a value that nobody else has"
    held = sys.getrefcount(slip), sys.getrefcount(value)
    for _ in range(5_000):  # more than one sheet of letters
        producer.hand_out(record(value=value), slip)
    assert (sys.getrefcount(slip), sys.getrefcount(value)) == (held[0] + 5_000, held[1] + 5_000)
    take_back(producer)
    assert (sys.getrefcount(slip), sys.getrefcount(value)) == held
    producer.hand_out(record(value=value), slip)  # on a letter that was used before
    assert (sys.getrefcount(slip), sys.getrefcount(value)) == (held[0] + 1, held[1] + 1)


@pytest.mark.parametrize("headers", [[], MANY[:1], MANY], ids=["no headers", "one", "many"])
def test_a_producer_that_goes_gives_back_what_is_out(headers: list[tuple[str, bytes]]) -> None:
    name, value = "a name of its own", b"a value of its own"
    producer, slip, held = make_producer(), object(), [sys.getrefcount(each) for each in (name, value)]
    held_slips = sys.getrefcount(slip)
    for number in range(3_000):
        others = [(name, value), ("number", b"%d" % number)] if headers else []
        producer.hand_out(record(headers=[*headers, *others]), slip)
    others = []
    del producer
    assert sys.getrefcount(slip) == held_slips
    assert [sys.getrefcount(each) for each in (name, value)] == held


def test_headers_are_kept_for_as_many_records_as_are_out_and_not_for_many_more() -> None:
    producer = make_producer()
    for number in range(5_000):
        producer.hand_out(record(headers=[*MANY, ("id", b"%04d" % number)]), object())
    kept, used = producer.header_counts
    assert used == 5_000
    assert 5_000 <= kept <= 5_500
    take_back(producer)
    for number in range(5_000):  # what went with the records is made anew in the same places
        producer.hand_out(record(headers=[*MANY, ("id", b"%04d" % number)]), object())
    assert producer.header_counts == (kept, 10_000)


def test_a_record_that_stays_out_does_not_keep_the_others_headers_from_being_used() -> None:
    """Those of a slow partition: they are stepped over."""
    refused = make_producer(queue_buffering_max_messages="100")
    for _ in range(100):
        refused.hand_out(record(headers=MANY), object())
    kept, _ = refused.header_counts
    for _ in range(1_000):  # each comes back at once, for the queue is full
        assert refused.hand_out(record(headers=MANY), object()) is False
    assert refused.header_counts == (kept, 1_100)


def test_headers_are_kept_where_what_is_kept_is_all_in_use() -> None:
    """Its one form has all the room there is: the rest is made for one record, and what is kept is not thrown away."""
    large = [*MANY, ("large", bytes(1_900))]
    producer = make_producer()
    for _ in range(35_000):
        producer.hand_out(record(headers=large), object())
    kept, used = producer.header_counts
    assert 8_000 < kept < 12_000
    assert kept * 0.9 < used <= kept


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of error_cb, which lacks it as well
def test_a_report_that_cannot_be_noted_is_no_record_that_stays_open_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    def lack_memory(*_: object) -> None:
        raise MemoryError

    producer, slip = make_producer(), object()
    held = sys.getrefcount(slip)
    producer.hand_out(record(), slip)
    monkeypatch.setattr(native_producer, "KafkaError", lack_memory)
    with pytest.raises(MemoryError, match="it is published again"):
        take_back(producer)
    assert sys.getrefcount(slip) == held


def test_a_producer_that_is_only_in_a_circle_goes(recwarn: pytest.WarningsRecorder) -> None:
    class Owner:
        def __init__(self) -> None:
            self.producer = make_producer(self.fail)

        def fail(self, *_: Any) -> None: ...

    slip, owner = object(), Owner()
    held = sys.getrefcount(slip)
    owner.producer.hand_out(record(), slip)
    del owner
    gc.collect()
    assert sys.getrefcount(slip) == held
    assert not recwarn.list


def test_a_full_queue_says_so_and_keeps_nothing() -> None:
    producer, slip = make_producer(queue_buffering_max_messages="2"), object()
    held = sys.getrefcount(slip)
    assert [producer.hand_out(record(), slip) for _ in range(4)] == [True, True, False, False]
    assert sys.getrefcount(slip) == held + 2


def test_a_record_that_librdkafka_refuses_says_why_and_stays_nowhere() -> None:
    producer, slip = make_producer(message_max_bytes="1000"), object()
    held = sys.getrefcount(slip)
    with pytest.raises(KafkaException) as refused:
        producer.hand_out(record(value=bytes(2_000)), slip)
    assert refused.value.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert not refused.value.args[0].fatal()
    del refused
    gc.collect()
    assert sys.getrefcount(slip) == held


def test_more_topics_than_are_kept_are_all_told_apart() -> None:
    failed: list[str] = []
    producer = make_producer(lambda slip, content, *_: failed.append(content[0]))
    names = [f"topic-{number}" for number in range(5_000)]
    for name in [*names, *names[:10]]:
        producer.hand_out(record(topic=name), object())
    take_back(producer)
    assert sorted(failed) == sorted([*names, *names[:10]])


def test_what_a_callback_raises_comes_out_of_the_poll() -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("from within")

    producer = make_producer(fail)
    for _ in range(2):
        producer.hand_out(record(), object())
    producer.purge(waits=True)
    for _ in range(2):  # the second one is not forgotten
        with pytest.raises(RuntimeError, match="from within"):
            producer.poll(5)
    producer.poll(0)


def test_errors_statistics_and_lines_are_told(caplog: pytest.LogCaptureFixture) -> None:
    errors: list[KafkaError] = []
    statistics: list[str] = []
    caplog.set_level(logging.DEBUG, LOGGER.name)
    producer = make_producer(
        on_error=errors.append, on_statistics=statistics.append, statistics_interval_ms="10", debug="broker"
    )
    for _ in range(1_000):
        producer.poll(0.01)
        if errors and statistics and caplog.records:
            break
    assert errors[0].code() in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN)
    assert "127.0.0.1:1" in errors[0].str() or "brokers" in errors[0].str()
    assert '"msg_cnt"' in statistics[0]
    assert "cdc-relay#producer" in caplog.text


def test_a_property_that_librdkafka_does_not_know_is_named() -> None:
    with pytest.raises(KafkaException, match=r"no\.such\.thing"):
        make_producer(no_such_thing="1")


def test_a_cluster_that_does_not_answer_is_told() -> None:
    with pytest.raises(KafkaException):
        make_producer().list_topics("orders", timeout=0.05)


def test_headers_that_are_kept_take_as_much_memory_as_is_documented() -> None:
    """24 MiB, each header counted with what librdkafka has beside it: of these some 670 bytes for a set."""
    producer = make_producer()
    for number in range(40_000):
        producer.hand_out(record(headers=[*MANY, ("id", b"%05d" % number)]), object())
    kept, _ = producer.header_counts
    assert 20_000 < kept < (24 << 20) // 640
