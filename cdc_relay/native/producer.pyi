import logging
from collections.abc import Callable

from confluent_kafka import KafkaError
from confluent_kafka.admin._metadata import ClusterMetadata

from cdc_relay.model import Record
from cdc_relay.sinks.producer import Fail
from cdc_relay.sinks.sink import Slip

class Producer:
    delivered: list[Slip]
    def __init__(
        self,
        properties: dict[str, str],
        *,
        fail: Fail,
        on_error: Callable[[KafkaError], None],
        on_statistics: Callable[[str], None] | None = None,
        logger: logging.Logger,
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def header_counts(self) -> tuple[int, int]: ...
    @property
    def handle(self) -> int: ...
    def hand_out(self, record: Record, slip: Slip) -> bool: ...
    def poll(self, timeout_seconds: float) -> None: ...
    def flush(self, timeout_seconds: float) -> None: ...
    def purge(self, *, waits: bool) -> None: ...
    def list_topics(self, topic: str | None = None, *, timeout: float) -> ClusterMetadata: ...
