"""What the sink contract runs on: the fake, librdkafka's mock cluster and a real broker, behind one face."""

from __future__ import annotations

import ctypes
import itertools
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, cast

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from cdc_relay.model import Headers, Origin, Policy, Record, Ticket, Transaction
from cdc_relay.parking.entry import Claim, Purpose, Reason, Status
from cdc_relay.sinks.kafka import KafkaSink
from cdc_relay.sinks.sink import Reports, Sink
from tests.fixtures.consume import wait_for_records
from tests.fixtures.kafka_broker import Kafka, MockKafka
from tests.unit.fakes import FakeClock, FakeSink

__all__ = [
    "Bench",
    "FakeBench",
    "KafkaBench",
    "Received",
    "break_for_good",
    "claim",
    "collect",
    "record",
    "refuse_produce",
    "ticket",
]

PARTITION_COUNT = 4  # what a topic of the mock cluster has
OUT_OF_ORDER_SEQUENCE_NUMBER = 45
_PRODUCE = 0  # the number of the request

ORIGIN = Origin("public.outbox")
POLICY = Policy("orders")

_ordinals = itertools.count()


class Received(NamedTuple):
    """A record as its consumer sees it."""

    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int
    partition: int


class Bench(Protocol):
    """A broker, and sinks for it."""

    def make_sink(self, **properties: str) -> Sink: ...

    def make_topic(self, **config: str) -> str: ...

    def read(self, topic: str, count: int) -> list[Received]: ...


class FakeBench:
    def __init__(self) -> None:
        self._sinks: list[FakeSink] = []

    def make_sink(self, **properties: str) -> Sink:
        self._sinks.append(FakeSink(FakeClock(), eager=True))
        return self._sinks[-1]

    def make_topic(self, **config: str) -> str:
        return f"contract-{uuid.uuid4().hex}"

    def read(self, topic: str, count: int) -> list[Received]:
        published = [each for sink in self._sinks for each in sink.published if each.topic == topic]
        return [Received(each.key, each.value, each.headers, each.timestamp_ms, each.partition) for each in published]


class KafkaBench:
    def __init__(self, kafka: Kafka) -> None:
        self.kafka = kafka
        self._sinks: list[KafkaSink] = []

    def make_sink(self, **properties: str) -> KafkaSink:
        """librdkafka's property names, with _ for the dots."""
        named = {name.replace("_", "."): value for name, value in properties.items()}
        self._sinks.append(KafkaSink({"bootstrap.servers": self.kafka.bootstrap, **named}))
        return self._sinks[-1]

    def make_topic(self, **config: str) -> str:
        topic = f"contract-{uuid.uuid4().hex}"
        self.kafka.create_topic(
            topic, PARTITION_COUNT, {name.replace("_", "."): value for name, value in config.items()}
        )
        return topic

    def read(self, topic: str, count: int) -> list[Received]:
        return [_received(message) for message in self._messages(topic, count)]

    def close(self) -> None:
        for sink in self._sinks:
            sink.close()

    def _messages(self, topic: str, count: int) -> list[Message]:
        """A partition of a new topic that no record went to may have no leader yet, and the asking fails."""
        deadline = time.monotonic() + 30
        while True:
            try:
                return wait_for_records(self.kafka.bootstrap, topic, count, timeout=60)
            except KafkaException as exc:
                if exc.args[0].code() != KafkaError.NOT_LEADER_FOR_PARTITION or time.monotonic() > deadline:
                    raise


def record(
    topic: str,
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    *,
    headers: Headers | None = None,
    timestamp_ms: int | None = None,
    partition: int = -1,
) -> Record:
    """Of now by default: the broker's retention goes by a record's timestamp, and runs every few minutes."""
    timestamp_ms = time.time_ns() // 1_000_000 if timestamp_ms is None else timestamp_ms
    return Record(topic, key, value, headers or [], timestamp_ms, 0, POLICY, partition)


def ticket(given: Record | None = None) -> Ticket:
    """Like no other; of this record."""
    ordinal = next(_ordinals)
    transaction = Transaction(commit_lsn=ordinal, commit_time_us=0, xid=1)
    topic, headers = (given.topic, given.headers) if given else ("", [])
    return Ticket(transaction, ordinal, ORIGIN, 0, (b"%d" % ordinal, None), headers, topic, POLICY)


def claim(given: Record) -> Claim:
    """Like no other, of a parked record that is tried for the second time."""
    number = next(_ordinals)
    return Claim(
        id=number,
        attempts=2,
        max_attempts=5,
        purpose=Purpose.PUBLISH,
        status=Status.RETRYING,
        reason=Reason.FAILURE,
        outbox=ORIGIN.label,
        commit_lsn=number,
        ordinal=0,
        commit_time_us=0,
        topic=given.topic,
        size_bytes=given.size_bytes,
        headers=given.headers,
        policy=given.policy,
        record=given,
    )


def collect(sink: Sink, count: int, *, timeout: float = 60) -> Reports:
    """Flush until so many verdicts are there; fewer when the time is over."""
    all_of_them = Reports([], [])
    deadline = time.monotonic() + timeout
    while len(all_of_them.delivered) + len(all_of_them.failed) < count and time.monotonic() < deadline:
        delivered, failed = sink.flush(0.05)
        all_of_them.delivered.extend(delivered)
        all_of_them.failed.extend(failed)
    return all_of_them


def break_for_good(sink: KafkaSink) -> None:
    """A fatal error in the living producer, by librdkafka's own test function.

    The Python client does not expose it, and no broker can be made to cause one at will: so it is called in the library
    that the client's wheel carries.
    """
    raise_fatal = _librdkafka().rd_kafka_test_fatal_error
    raise_fatal.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p]
    assert raise_fatal(_handle(sink._main.producer), OUT_OF_ORDER_SEQUENCE_NUMBER, b"planted by the test") == 0


def refuse_produce(kafka: MockKafka, code: int) -> None:
    """The mock cluster's next produce request gets this error."""
    library = _librdkafka()
    library.rd_kafka_handle_mock_cluster.argtypes = [ctypes.c_void_p]
    library.rd_kafka_handle_mock_cluster.restype = ctypes.c_void_p
    cluster = library.rd_kafka_handle_mock_cluster(_handle(kafka.producer))
    push_errors = library.rd_kafka_mock_push_request_errors_array
    push_errors.argtypes = [ctypes.c_void_p, ctypes.c_int16, ctypes.c_size_t, ctypes.POINTER(ctypes.c_int)]
    push_errors(cluster, _PRODUCE, 1, ctypes.byref(ctypes.c_int(code)))


def by_key(received: Sequence[Received]) -> dict[bytes | None, list[bytes | None]]:
    """The values of each key, in the order of its partition."""
    values: dict[bytes | None, list[bytes | None]] = {}
    for each in received:
        values.setdefault(each.key, []).append(each.value)
    return values


def _handle(producer: Producer) -> ctypes.c_void_p:
    """A Producer keeps its rd_kafka_t pointer right behind its object header."""
    return ctypes.c_void_p.from_address(id(producer) + object.__basicsize__)


def _librdkafka() -> ctypes.CDLL:
    package = Path(confluent_kafka.__file__).parent
    carried = [*package.parent.glob("confluent_kafka.libs/librdkafka*"), *package.glob(".dylibs/librdkafka*")]
    if not carried:
        pytest.skip("this build of confluent_kafka carries no librdkafka of its own")
    return ctypes.CDLL(str(carried[0]))


def _received(message: Message) -> Received:
    key, value, partition = message.key(), message.value(), message.partition()
    assert key is None or isinstance(key, bytes)
    assert value is None or isinstance(value, bytes)
    assert partition is not None
    headers = cast(Headers, list(message.headers() or []))
    return Received(key, value, headers, message.timestamp()[1], partition)
