"""A process that produces N records from memory and prints events/s and CPU us/event: `BOOTSTRAP TOPIC N`."""

from __future__ import annotations

import resource
import sys
import time
from functools import partial

from confluent_kafka import Producer

from cdc_relay.sinks.kafka import producer_properties

VALUE = b'{"line": 1, "note": "' + b"x" * 230 + b'", "order": 12345}'
ID = b"00000000-0000-0000-0000-000000000000"
WINDOW = 20_000


def main(bootstrap: str, topic: str, count: int) -> None:
    producer = Producer(producer_properties({"bootstrap.servers": bootstrap}))
    keys = [str(number).encode() for number in range(1000)]
    acknowledged: list[int] = []

    def report(number: int, error: object, message: object) -> None:
        acknowledged.append(number)

    started = time.monotonic()
    for number in range(count):
        headers: list[tuple[str, str | bytes | None]] = [("id", ID)]
        producer.produce(topic, VALUE, keys[number % 1000], -1, partial(report, number), headers=headers)
        if number % 500 == 0:
            producer.poll(0)
            while number - len(acknowledged) > WINDOW:
                producer.poll(0.05)
    while len(acknowledged) < count:
        producer.flush(0.05)
    elapsed = time.monotonic() - started
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(count / elapsed, (usage.ru_utime + usage.ru_stime) / count * 1e6)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
