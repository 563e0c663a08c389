"""What the sink contract runs on: the fake, a log, none, librdkafka's mock cluster and a real broker."""

from __future__ import annotations

import itertools
import os
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, cast

import orjson
from confluent_kafka import KafkaError, KafkaException, Message

from cdc_relay.model import Headers, Origin, Policy, Record, Ticket, Transaction
from cdc_relay.parking.desk_bytes import bytes_of, decode
from cdc_relay.parking.entry import Claim, Purpose, Reason, Status
from cdc_relay.sinks.kafka import KafkaSink
from cdc_relay.sinks.line_output import LineOutput
from cdc_relay.sinks.log import LogSink
from cdc_relay.sinks.none import NoneSink
from cdc_relay.sinks.sink import Reports, Sink
from tests.fixtures.consume import wait_for_records
from tests.fixtures.kafka_broker import Kafka
from tests.unit.fakes import FakeClock, FakeSink

__all__ = [
    "Bench",
    "FakeBench",
    "KafkaBench",
    "LogBench",
    "NoneBench",
    "Readable",
    "Received",
    "claim",
    "collect",
    "read_line",
    "record",
    "ticket",
]

PARTITION_COUNT = 4  # what a topic of the mock cluster has

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

    def expect(self, topic: str, count: int) -> None:
        """So many records are there, and no more."""
        ...


class Readable:
    """A bench whose records can be read back."""

    def make_sink(self, **properties: str) -> Sink:
        raise NotImplementedError

    def make_topic(self, **config: str) -> str:
        return f"contract-{uuid.uuid4().hex}"

    def read(self, topic: str, count: int) -> list[Received]:
        raise NotImplementedError

    def expect(self, topic: str, count: int) -> None:
        assert len(self.read(topic, count)) == count


class NoneBench:
    """Nothing can be read back: for this sink the contract is about its reports, and about nothing that arrived."""

    def make_sink(self, **properties: str) -> Sink:
        return NoneSink()

    def make_topic(self, **config: str) -> str:
        return "contract"

    def expect(self, topic: str, count: int) -> None:
        return None


class LogBench(Readable):
    """A file, which every sink writes to the end of."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def make_sink(self, **properties: str) -> LogSink:
        descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            return LogSink(LineOutput(descriptor))
        finally:
            os.close(descriptor)

    def read(self, topic: str, count: int) -> list[Received]:
        lines = map(read_line, self._file.read_bytes().splitlines())
        return [received for name, received in lines if name == topic]


class FakeBench(Readable):
    def __init__(self) -> None:
        self._sinks: list[FakeSink] = []

    def make_sink(self, **properties: str) -> Sink:
        self._sinks.append(FakeSink(FakeClock(), eager=True))
        return self._sinks[-1]

    def read(self, topic: str, count: int) -> list[Received]:
        published = [each for sink in self._sinks for each in sink.published if each.topic == topic]
        return [Received(each.key, each.value, each.headers, each.timestamp_ms, each.partition) for each in published]


class KafkaBench(Readable):
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


def by_key(received: Sequence[Received]) -> dict[bytes | None, list[bytes | None]]:
    """The values of each key, in the order of its partition."""
    values: dict[bytes | None, list[bytes | None]] = {}
    for each in received:
        values.setdefault(each.key, []).append(each.value)
    return values


def read_line(line: bytes) -> tuple[str, Received]:
    """The topic and the record of a line that the log sink wrote."""
    shown = orjson.loads(line)
    headers: Headers = [(each["name"], bytes_of(each)) for each in shown["headers"]]
    key, value = decode(shown["key"]), decode(shown["value"])
    return shown["topic"], Received(key, value, headers, shown["timestamp_ms"], shown.get("partition", -1))


def _received(message: Message) -> Received:
    key, value, partition = message.key(), message.value(), message.partition()
    assert key is None or isinstance(key, bytes)
    assert value is None or isinstance(value, bytes)
    assert partition is not None
    headers = cast(Headers, list(message.headers() or []))
    return Received(key, value, headers, message.timestamp()[1], partition)
