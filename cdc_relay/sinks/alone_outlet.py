"""A producer for records that travel alone, each in a batch of its own, in the order of their key."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError

from cdc_relay.delivery.gates import Lanes, Scope
from cdc_relay.model import Record
from cdc_relay.sinks.outlet import Outlet
from cdc_relay.sinks.producers import alone_properties
from cdc_relay.sinks.sink import Slip

__all__ = ["AloneOutlet"]

# While nobody waits for a report: one by one, each wakes librdkafka's thread for itself.
_GATHER_SECONDS = 0.02
_GATHER_COUNT = 64


class AloneOutlet(Outlet):
    """One record of a key is out at a time. librdkafka would not keep their order: without idempotence it has the next
    request ready while one is out, and a record that must be sent again goes behind it."""

    def __init__(
        self,
        properties: Mapping[str, str],
        *,
        complain: Callable[[KafkaError], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(alone_properties(properties), complain=complain, is_alone=True)
        self._lanes: Lanes[tuple[Record, Slip]] = Lanes()
        self._scopes: dict[int, Scope] = {}  # of what is out, by its identity: replayed ones share positions
        self._clock = clock
        self._gathers_until = 0.0

    @property
    def is_busy(self) -> bool:
        return bool(self._lanes) or super().is_busy

    def publish(self, record: Record, slip: Slip) -> None:
        scope = record.topic, record.key
        if record.key is None:
            self._gather(record, slip)
        elif self._lanes.enter(scope, (record, slip)):
            self._scopes[id(slip)] = scope
            self._gather(record, slip)

    def empty(self, timeout_seconds: float) -> None:
        super().empty(timeout_seconds)
        self.purged += [(slip, record) for record, slip in self._lanes.clear_all()]
        self._scopes.clear()

    def abandon(self) -> None:
        self._lanes = Lanes()
        self._scopes.clear()
        super().abandon()

    def _gather(self, record: Record, slip: Slip) -> None:
        if not self.waiting:
            self._gathers_until = self._clock() + _GATHER_SECONDS
        self.waiting.append((record, slip))

    def _hand_out_waiting(self) -> None:
        if len(self.waiting) >= _GATHER_COUNT or (self.waiting and self._clock() >= self._gathers_until):
            super()._hand_out_waiting()

    def _serve(self, call: Callable[[float], Any], timeout_seconds: float) -> None:
        if timeout_seconds > 0:  # somebody waits
            super()._hand_out_waiting()
        super()._serve(call, timeout_seconds)
        verdict_count, delivered = 0, self.producer.delivered
        while verdict_count < len(delivered) + len(self.failed):  # a record may be refused when it is handed out
            verdict_count = len(delivered) + len(self.failed)
            for slip in [*delivered, *(reject.slip for reject in self.failed)]:
                self._advance(slip)

    def _advance(self, slip: Slip) -> None:
        scope = self._scopes.pop(id(slip), None)
        item = None if scope is None else self._lanes.advance(scope)
        if scope is not None and item is not None:
            record, following = item
            self._scopes[id(following)] = scope
            if not self.hand_out(record, following):  # at once: a key's records would gather by ones
                self.waiting.append((record, following))
