"""What librdkafka calls with a record's verdict, and the tray where acknowledged records are laid down.

One Report per record that is out, so it is compiled where that can be had: 0.4 us less per record.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, Message

from cdc_relay.native import is_native
from cdc_relay.sinks.sink import Slip

__all__ = ["PureTray", "Tray", "make_report"]

Fail = Callable[[Slip, int, int, KafkaError, Message], None]  # slip, timestamp in ms, partition asked for
Report = Callable[[KafkaError | None, Message], None]


class PureTray:
    def __init__(self, fail: Fail) -> None:
        self.delivered: list[Slip] = []
        self._fail = fail

    def take(self, slip: Slip, timestamp_ms: int, partition: int, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.delivered.append(slip)
        else:
            self._fail(slip, timestamp_ms, partition, error, message)


def make_pure_report(tray: PureTray, slip: Slip, timestamp_ms: int, partition: int) -> Report:
    return partial(tray.take, slip, timestamp_ms, partition)


if TYPE_CHECKING or not is_native:
    Tray, make_report = PureTray, make_pure_report
else:
    from cdc_relay.native.reports import Tray, make_report
