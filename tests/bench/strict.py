"""`python -m tests.bench.strict`: what strict order per key costs by two techniques, beside none, in one run.

plain     one idempotent producer, everything in flight: the ceiling, without strict order
gapless   enable.gapless.guarantee: a failure is fatal for the producer; build a new one, send all that is open again in
          order, the failed one alone
lane      one record of a key in flight at a time, the later ones wait in memory: what cdc-relay does
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import click
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tests.bench.servers import servers
from tests.fixtures.consume import read_topic
from tests.fixtures.kafka_broker import KafkaBroker

PADDING = "x" * 300
TOPIC_LIMIT_BYTES = 200_000
FATAL = (KafkaException, SystemError)  # confluent-kafka's flush() loses the exception of a fatal error


class Event(NamedTuple):
    number: int
    key: bytes
    value: bytes


class Result(NamedTuple):
    seconds: float
    rebuild_count: int = 0


Technique = Callable[[KafkaBroker, str, Sequence[Event]], Result]


def make_events(count: int, key_count: int, bad_count: int) -> list[Event]:
    """Bad ones are larger than the topic allows, so only the broker can tell."""
    bad = {count * (2 * turn + 1) // (2 * bad_count) for turn in range(bad_count)}
    sizes = [TOPIC_LIMIT_BYTES + 1000 if number in bad else 0 for number in range(count)]
    return [
        Event(number, b"k%d" % (number % key_count), f"{number} {PADDING}".encode() + b"y" * size)
        for number, size in enumerate(sizes)
    ]


def producer(kafka: KafkaBroker, **properties: str) -> Producer:
    return Producer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "enable.idempotence": "true",
            "message.timeout.ms": "0",
            "linger.ms": "5",
            "batch.size": "100000",
            "log_level": "0",
            **properties,
        }
    )


def send_plain(kafka: KafkaBroker, topic: str, events: Sequence[Event]) -> Result:
    started, out = time.perf_counter(), producer(kafka)
    for event in events:
        out.produce(topic, event.value, event.key)
        out.poll(0)
    out.flush()
    return Result(time.perf_counter() - started)


class Gapless:
    def __init__(self, kafka: KafkaBroker, topic: str, events: Sequence[Event]) -> None:
        self._kafka = kafka
        self._topic = topic
        self._open = {event.number: event for event in events}
        self._failed: set[int] = set()
        self._rebuild_count = 0

    def run(self) -> Result:
        started = time.perf_counter()
        while self._open:
            self._send_alone(sorted(self._failed & self._open.keys()))
            self._send_all()
            self._rebuild_count += 1
        return Result(time.perf_counter() - started, self._rebuild_count - 1)

    def _send_all(self) -> None:
        out = producer(self._kafka, **{"enable.gapless.guarantee": "true"})
        try:
            for event in list(self._open.values()):
                out.produce(self._topic, event.value, event.key, on_delivery=partial(self._report, event.number))
                out.poll(0)
            out.flush()
        except FATAL:
            self._gather_reports(out)

    def _gather_reports(self, out: Producer) -> None:
        """Of a producer that broke: who it was is in them."""
        deadline = time.monotonic() + 5
        while len(out) and time.monotonic() < deadline:
            with suppress(*FATAL):
                out.purge()
                out.poll(0.1)

    def _send_alone(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            out, event = producer(self._kafka), self._open.pop(number)
            out.produce(self._topic, event.value, event.key)
            out.flush()

    def _report(self, number: int, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._open.pop(number, None)
        elif len(message.value() or b"") > TOPIC_LIMIT_BYTES:  # reported as fatal, not as too large
            self._failed.add(number)


class Lanes:
    def __init__(self, kafka: KafkaBroker, topic: str, events: Sequence[Event]) -> None:
        self._out = producer(kafka, **{"linger.ms": "50"})
        self._topic = topic
        self._events = events
        self._waiting: dict[bytes, deque[Event]] = {}
        self._open_count = 0

    def run(self) -> Result:
        started = time.perf_counter()
        for event in self._events:
            self._offer(event)
        while self._open_count:
            self._out.flush(0.001)
        return Result(time.perf_counter() - started)

    def _offer(self, event: Event) -> None:
        self._open_count += 1
        if (waiting := self._waiting.get(event.key)) is not None:
            waiting.append(event)
            return
        self._waiting[event.key] = deque()
        self._send(event)

    def _send(self, event: Event) -> None:
        self._out.produce(self._topic, event.value, event.key, on_delivery=partial(self._report, event.key))

    def _report(self, key: bytes, error: KafkaError | None, message: Message) -> None:
        """A failed one would be parked; here the next one of its key goes on."""
        self._open_count -= 1
        if waiting := self._waiting[key]:
            self._send(waiting.popleft())
        else:
            del self._waiting[key]


def duplicate_count(kafka: KafkaBroker, topic: str) -> int:
    values = [bytes(record.value() or b"").split(b" ")[0] for record in read_topic(kafka.bootstrap, topic)]
    return len(values) - len(set(values))


@click.command()
@click.option("--events", "event_count", default=20_000, show_default=True)
def main(event_count: int) -> None:
    techniques: dict[str, Technique] = {
        "plain": send_plain,
        "gapless": lambda kafka, topic, events: Gapless(kafka, topic, events).run(),
        "lane": lambda kafka, topic, events: Lanes(kafka, topic, events).run(),
    }
    with servers() as place:
        place.kafka.create_topic("warm")
        send_plain(place.kafka, "warm", make_events(100_000, 100, 0))
        print(
            f"{'technique':10} {'keys':>6} {'bad':>4} {'events/s':>9} {'of plain':>8} {'rebuilt':>7} {'duplicates':>10}"
        )
        for key_count, bad_count in ((1, 0), (10, 0), (1000, 0), (1000, 10)):
            events, plain = make_events(event_count, key_count, bad_count), 0.0
            for name, send in techniques.items():
                topic = f"{name}-{key_count}-{bad_count}"
                place.kafka.create_topic(topic, 3, {"max.message.bytes": str(TOPIC_LIMIT_BYTES)})
                result = send(place.kafka, topic, events)
                rate = event_count / result.seconds
                plain = plain or rate
                found = duplicate_count(place.kafka, topic)
                row = f"{name:10} {key_count:6} {bad_count:4} {rate:9,.0f} {rate / plain:8.2f}"
                print(f"{row} {result.rebuild_count:7} {found:10,}")


if __name__ == "__main__":
    main()
