"""A process that produces N records from memory with the relay's own settings.

BOOTSTRAP TOPIC N VALUE_BYTES COMPRESSION are its arguments. Prints seconds and CPU seconds, without those of its start.
"""

from __future__ import annotations

import random
import string
import sys
import time
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from cdc_relay.sinks.kafka import producer_properties

ID = b"00000000-0000-0000-0000-000000000000"
WINDOW_BYTES = 16_000_000


def main(bootstrap: str, topic: str, count: int, value_bytes: int, compression: str) -> None:
    properties = {"bootstrap.servers": bootstrap, "compression.type": compression}
    producer = Producer(producer_properties(properties))
    producer.list_topics(topic, timeout=10)
    keys, values = [b"k%d" % number for number in range(1000)], _make_values(value_bytes)
    window = min(20_000, max(10, WINDOW_BYTES // value_bytes))
    acknowledged: list[int] = []

    def report(number: int, error: KafkaError | None, message: Message) -> None:
        if error is not None:  # poll() and flush() raise it
            raise KafkaException(error)
        acknowledged.append(number)

    started, cpu = time.monotonic(), time.process_time()
    for number in range(count):
        headers: list[tuple[str, str | bytes | None]] = [("id", ID)]
        value, key = values[number % len(values)], keys[number % 1000]
        producer.produce(topic, value, key, -1, partial(report, number), headers=headers)
        if number % 500 == 0 or number - len(acknowledged) > window:
            producer.poll(0)
            while number - len(acknowledged) > window:
                producer.poll(0.05)
    while len(acknowledged) < count:
        producer.flush(0.05)
    print(time.monotonic() - started, time.process_time() - cpu)


def _make_values(value_bytes: int) -> list[bytes]:
    letters, chance = string.ascii_letters + string.digits, random.Random(8)
    return ["".join(chance.choices(letters, k=value_bytes)).encode() for _ in range(1000 if value_bytes < 2000 else 10)]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
