"""A consumer in a process of its own: BOOTSTRAP TOPIC OFFSET COUNT SKIP. Prints `ready`, then p50, p90, p99, max in ms.

The stamp in a row is its writer's clock at once before the commit; this process looks at its own, on the same machine.
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import Consumer, Message, TopicPartition

from tests.bench.arrival import STALL_SECONDS

_STAMP = b'"at": '
_STAMP_DIGITS = 16


def main(bootstrap: str, topic: str, offset: int, count: int, skip: int) -> None:
    properties = {"bootstrap.servers": bootstrap, "group.id": "latency", "enable.auto.commit": "false"}
    consumer = Consumer(properties)
    consumer.assign([TopicPartition(topic, 0, offset)])
    consumer.poll(1.0)  # nothing to read yet: now it fetches
    print("ready", flush=True)
    samples = sorted(_take(consumer, count)[skip:])
    places = (len(samples) // 2, int(len(samples) * 0.9), int(len(samples) * 0.99), len(samples) - 1)
    print(*(samples[place] for place in places), flush=True)


def _take(consumer: Consumer, count: int) -> list[float]:
    """Blocks for the first record and takes what is there with it: no wake-ups while there is nothing."""
    samples: list[float] = []
    deadline = time.monotonic() + STALL_SECONDS
    while len(samples) < count:
        first = consumer.poll(1.0)
        if first is None:
            if time.monotonic() > deadline:
                raise SystemExit(f"{len(samples)} of {count} events arrived")
            continue
        messages = [first, *consumer.consume(1000, timeout=0)]
        now_us = time.time_ns() / 1000
        samples += [(now_us - _stamp_us(message)) / 1000 for message in messages if message.error() is None]
    return samples


def _stamp_us(message: Message) -> int:
    value = message.value() or b""
    start = value.index(_STAMP) + len(_STAMP)
    return int(value[start : start + _STAMP_DIGITS])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
