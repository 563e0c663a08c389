"""The seam between an outlet and librdkafka: records in, acknowledged slips and returned records out of poll and flush.

Behind it are librdkafka itself, compiled (native.producer), and its Python client (client_producer).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from confluent_kafka import KafkaError
from confluent_kafka.admin._metadata import ClusterMetadata

from cdc_relay.model import Record
from cdc_relay.sinks.sink import Slip

__all__ = ["Fail", "Producer", "ReturnedContent"]

ReturnedContent = tuple[str | None, bytes | None, bytes | None]  # topic, key and value: all that librdkafka gives back
Fail = Callable[
    [Slip, ReturnedContent, int, int, KafkaError], None
]  # timestamp in ms, partition as they were asked for


class Producer(Protocol):
    """It raises KafkaException, and OverflowError, TypeError and ValueError of a record that it cannot take."""

    delivered: list[Slip]  # acknowledged, until the owner takes them away

    def __len__(self) -> int:
        """How much is out, and what has not been heard yet."""
        ...

    def hand_out(self, record: Record, slip: Slip) -> bool:
        """False when librdkafka's queue is full."""
        ...

    def poll(self, timeout_seconds: float) -> None: ...

    def flush(self, timeout_seconds: float) -> None:
        """Like poll, but nothing lingers, and all that is out is waited for."""
        ...

    def purge(self, *, waits: bool) -> None:
        """Whatever is out comes back with the next poll(); `waits` until the broker threads have let go of it."""
        ...

    def list_topics(self, topic: str | None = None, *, timeout: float) -> ClusterMetadata:
        """May be called from the helper thread."""
        ...
