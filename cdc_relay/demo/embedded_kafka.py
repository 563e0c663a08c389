"""The demo's Kafka: librdkafka's mock cluster inside this process, and the consumer that watches it.

It speaks the real protocol to any client on this machine, keeps the records in memory and proves nothing about
durability. Must not know what the records mean: the caller gives a function that takes them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Event
from types import TracebackType
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from cdc_relay.errors import SinkError

__all__ = ["EmbeddedKafka", "RecordReader"]

_BROKER_COUNT = 3
_METADATA_TIMEOUT_SECONDS = 10.0
_READ_TO_END_SECONDS = 30.0
_POLL_SECONDS = 0.05
_BATCH_SIZE = 500
_PASSING_ERRORS = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN)  # librdkafka connects again by itself
_CRITICAL_ONLY = 2  # librdkafka's log level: the demo reports failures itself


class EmbeddedKafka:
    """Lives until it is closed. Topics are made by asking for them, as with a broker that creates topics by itself."""

    def __init__(self) -> None:
        self._cluster: Producer | None = None

    def __enter__(self) -> EmbeddedKafka:
        self._cluster = Producer({"test.mock.num.brokers": _BROKER_COUNT, "log_level": _CRITICAL_ONLY})
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._cluster = None  # librdkafka ends the brokers with the client that owns them

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{broker.host}:{broker.port}" for broker in self._metadata().brokers.values())

    def create_topics(self, names: Sequence[str]) -> list[TopicPartition]:
        """Every partition of the topics, each at its beginning."""
        return [TopicPartition(name, number, 0) for name in names for number in self._partition_numbers(name)]

    def _partition_numbers(self, topic: str) -> list[int]:
        metadata = self._metadata(topic).topics[topic]
        if metadata.error is not None or not metadata.partitions:
            raise SinkError(f"the embedded Kafka did not create the topic {topic}: {metadata.error}")
        return sorted(metadata.partitions)

    def _metadata(self, topic: str | None = None) -> Any:
        if self._cluster is None:
            raise SinkError("the embedded Kafka is not running")
        try:
            return self._cluster.list_topics(topic, timeout=_METADATA_TIMEOUT_SECONDS)
        except KafkaException as exc:
            raise SinkError(f"the embedded Kafka does not answer: {exc}") from exc


class RecordReader:
    """A consumer of its own, assigned to all partitions before the first row is written: it misses nothing."""

    def __init__(self, bootstrap_servers: str, partitions: list[TopicPartition]) -> None:
        self._partitions = partitions
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": "cdc-relay-demo",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",  # a record that the broker has dropped must not pass unseen
                "fetch.wait.max.ms": 2,  # the mock answers an empty fetch only after this wait, so it is latency
                "log_level": _CRITICAL_ONLY,
            }
        )
        self._consumer.assign(partitions)

    def run(self, take: Callable[[Message, float], None], finish: Event) -> None:
        """Until `finish` is set, and then on to the end of every partition."""
        try:
            while not finish.is_set():
                self._take_available(take)
            self._read_to_end(take)
        except KafkaException as exc:
            raise SinkError(f"the demo's consumer failed: {exc}") from exc
        finally:
            self._consumer.close()

    def _take_available(self, take: Callable[[Message, float], None]) -> None:
        first = self._consumer.poll(_POLL_SECONDS)  # consume() alone would wait for a full batch
        if first is None:
            return
        messages = [first, *self._consumer.consume(_BATCH_SIZE, 0)]
        now = time.monotonic()
        for message in filter(_is_record, messages):
            take(message, now)

    def _read_to_end(self, take: Callable[[Message, float], None]) -> None:
        deadline = time.monotonic() + _READ_TO_END_SECONDS
        while not self._is_at_end():
            self._take_available(take)
            if time.monotonic() > deadline:
                raise SinkError("the demo's consumer could not read to the end of the topics")

    def _is_at_end(self) -> bool:
        positions = {(p.topic, p.partition): max(p.offset, 0) for p in self._consumer.position(self._partitions)}
        return all(positions[p.topic, p.partition] >= self._end_offset(p) for p in self._partitions)

    def _end_offset(self, partition: TopicPartition) -> int:
        offsets = self._consumer.get_watermark_offsets(partition, timeout=_METADATA_TIMEOUT_SECONDS)
        if offsets is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return int(offsets[1])


def _is_record(message: Message) -> bool:
    error = message.error()
    if error is not None and error.code() not in _PASSING_ERRORS:
        raise KafkaException(error)
    return error is None
