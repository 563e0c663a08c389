"""Reads back what a drain delivered, and has it checked. In a cheap way: 300,000 records take about a second."""

from __future__ import annotations

import time

from confluent_kafka import TopicPartition

from tests.bench.arrival import STALL_SECONDS
from tests.bench.check import Delivered, number_of
from tests.bench.stage import Backlog, Stage
from tests.bench.watch import Ends
from tests.fixtures.consume import consumer, good_messages

__all__ = ["inspect", "read_range"]

_SETTINGS = {"queued.max.messages.kbytes": 65536, "fetch.message.max.bytes": 10_000_000}


def inspect(stage: Stage, peer: str, before: Ends, after: Ends, backlog: Backlog) -> int:
    """How many records came twice; a drain that lost, made up or reordered some is a failed run, and ends it."""
    delivered = Delivered(backlog.first, backlog.count, stage.workload.key_count)
    read_range(stage.servers.kafka.bootstrap, before, after, delivered)
    verdict = delivered.verdict()
    if not verdict.is_good:
        raise SystemExit(f"{peer}, {stage.workload.name}: a failed run: {verdict}")
    return verdict.duplicates


def read_range(bootstrap: str, before: Ends, after: Ends, delivered: Delivered) -> None:
    """The records from the offsets `before` to `after`."""
    left = sum(after.values()) - sum(before.values())
    reader = consumer(bootstrap, **_SETTINGS)
    deadline = time.monotonic() + STALL_SECONDS
    try:
        grown = [place for place, end in after.items() if end > before[place]]
        reader.assign([TopicPartition(topic, number, before[topic, number]) for topic, number in grown])
        while left > 0:
            if time.monotonic() > deadline:
                raise SystemExit(f"{left} records could not be read back in {STALL_SECONDS} s")
            messages = good_messages(reader.consume(min(left, 10_000), timeout=0.5))
            left -= len(messages)
            for message in messages:
                delivered.take(message.topic(), message.key(), number_of(message.value()))
    finally:
        reader.close()
