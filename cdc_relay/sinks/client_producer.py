"""librdkafka through its Python client: where nothing is compiled, and for what only the client knows how to do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial

from confluent_kafka import KafkaError, Message
from confluent_kafka import Producer as Client
from confluent_kafka.admin._metadata import ClusterMetadata

from cdc_relay.model import Record
from cdc_relay.sinks.produce_call import find_call
from cdc_relay.sinks.producer import Fail
from cdc_relay.sinks.sink import Slip

__all__ = ["ClientProducer", "Tray"]


class Tray:
    """Where reports lay down what they say. Those that are never served keep it alive, but not the client."""

    def __init__(self, fail: Fail) -> None:
        self.delivered: list[Slip] = []
        self._fail = fail

    def take(self, slip: Slip, timestamp_ms: int, partition: int, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.delivered.append(slip)
        else:
            content = message.topic(), message.key(), message.value()
            self._fail(slip, content, timestamp_ms, partition, error)


class ClientProducer:
    def __init__(
        self,
        properties: Mapping[str, str],
        *,
        fail: Fail,
        on_error: Callable[[KafkaError], None],
        on_statistics: Callable[[str], None] | None = None,
        logger: logging.Logger,
    ) -> None:
        self._tray = Tray(fail)
        callbacks = {"error_cb": on_error} | ({} if on_statistics is None else {"stats_cb": on_statistics})
        self.client = Client({**properties, **callbacks}, logger=logger)
        self._produce = find_call(self.client)

    @property
    def delivered(self) -> list[Slip]:
        return self._tray.delivered

    @delivered.setter
    def delivered(self, slips: list[Slip]) -> None:
        self._tray.delivered = slips

    def __len__(self) -> int:
        return len(self.client)

    def hand_out(self, record: Record, slip: Slip) -> bool:
        topic, key, value, headers, timestamp_ms, _, _, partition = record
        report = partial(self._tray.take, slip, timestamp_ms, partition)
        try:
            self._produce(topic, value, key, partition, report, None, timestamp_ms, headers)
        except BufferError:
            return False
        return True

    def poll(self, timeout_seconds: float) -> None:
        self.client.poll(timeout_seconds)

    def flush(self, timeout_seconds: float) -> None:
        self.client.flush(timeout_seconds)

    def purge(self, *, waits: bool) -> None:
        self.client.purge(blocking=not waits)  # the client (2.16) has the flag the wrong way round

    def list_topics(self, topic: str | None = None, *, timeout: float) -> ClusterMetadata:
        metadata: ClusterMetadata = self.client.list_topics(topic, timeout=timeout)
        return metadata
