"""What a record costs the loop's thread on its way to librdkafka and back: `python -m tests.bench.producers`.

The compiled producer beside librdkafka's Python client, on librdkafka's own mock cluster: µs of this thread's CPU per
record, to hand it out and to hear its report. librdkafka's threads, and the mock broker's, are not counted.
"""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import Callable
from typing import Any

from cdc_relay.model import Policy, Record
from cdc_relay.sinks.client_producer import ClientProducer
from cdc_relay.sinks.librdkafka import find_native_producer
from cdc_relay.sinks.producer import Producer
from cdc_relay.sinks.producers import producer_properties
from tests.fixtures.kafka_broker import MockKafka

RECORDS, ROUNDS = 20_000, 9
POLICY = Policy("bench")
Cost = tuple[float, float]  # out, back


def make_records(header_count: int) -> list[Record]:
    headers = [(f"ce_attribute{number}", b"a value of its own") for number in range(header_count)]
    now = time.time_ns() // 1_000_000
    return [
        Record("bench", b"key-%d" % (number % 1_000), b'{"order": %270d}' % number, list(headers), now, 0, POLICY)
        for number in range(RECORDS)
    ]


def measure(producer: Producer, header_count: int) -> Cost:
    records, slips = make_records(header_count), [object() for _ in range(RECORDS)]
    hand_out: Callable[[Record, Any], bool] = producer.hand_out
    began = time.thread_time()
    for record, slip in zip(records, slips, strict=True):
        hand_out(record, slip)
    out = time.thread_time() - began
    del records
    began = time.thread_time()
    while len(producer.delivered) < RECORDS:
        producer.poll(0.1)
    back = time.thread_time() - began
    producer.delivered = []
    return out / RECORDS * 1e6, back / RECORDS * 1e6


def main() -> None:
    kafka = MockKafka()
    kinds: dict[str, Callable[..., Producer]] = {"client": ClientProducer}
    if (native := find_native_producer()) is not None:
        kinds["compiled"] = native
    properties = producer_properties({"bootstrap.servers": kafka.bootstrap, "linger.ms": "5"})
    logger = logging.getLogger("bench")
    producers = {
        name: kind(properties, fail=print, on_error=print, on_statistics=None, logger=logger)
        for name, kind in kinds.items()
    }
    print(f"us per record, medians of {ROUNDS} rounds of {RECORDS:,}; out + back")
    for header_count in (1, 9):
        costs: dict[str, list[Cost]] = {name: [] for name in producers}
        for _ in range(ROUNDS):  # in turn: the machine changes while we look
            for name, producer in producers.items():
                costs[name].append(measure(producer, header_count))
        for name, rounds in costs.items():
            out, back = (statistics.median(each) for each in zip(*rounds, strict=True))
            print(f"{header_count} headers, {name:9} {out:5.2f} + {back:4.2f}")


if __name__ == "__main__":
    main()
