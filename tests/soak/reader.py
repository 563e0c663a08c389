"""A consumer that checks the numbers of every key, without remembering them all, and takes the time of each record."""

from __future__ import annotations

import re
import time
from array import array

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.fixtures.consume import consumer, good_messages
from tests.fixtures.history.witness import Witness
from tests.soak.load import KEYS_PER_WRITER

__all__ = ["Numbers", "SoakReader"]


class Numbers:
    """Of each key the number that was seen last: the next one is a whole round of keys further. Pure."""

    def __init__(self) -> None:
        self.first_count = 0
        self.duplicate_count = 0
        self.gaps: list[tuple[int, int, int]] = []  # writer, expected, found
        self._last: dict[tuple[int, int], int] = {}

    def see(self, writer: int, number: int) -> bool:
        """Whether it is new."""
        place = writer, number % KEYS_PER_WRITER
        expected = self._last.get(place, place[1] - KEYS_PER_WRITER if place[1] else 0) + KEYS_PER_WRITER
        if number < expected:
            self.duplicate_count += 1
            return False
        if number > expected:
            self.gaps.append((writer, expected, number))
        self._last[place] = number
        self.first_count += 1
        return True

    def missing_count(self, writer: int, count: int) -> int:
        """Of that writer's first `count` rows, those at the end of their keys that have not come."""
        missing = 0
        for key in range(KEYS_PER_WRITER):
            last = self._last.get((writer, key), key - KEYS_PER_WRITER if key else 0)
            missing += max(0, (count - key) // KEYS_PER_WRITER - (last - key) // KEYS_PER_WRITER)
        return missing


class SoakReader(Witness):
    def __init__(self, bootstrap: str, topic: str, partition_count: int) -> None:
        super().__init__("soak reader")
        self.numbers = Numbers()
        self.arrived_at = array("d")  # of first deliveries, by the wall clock
        self.delay_ms = array("d")
        self.repeated_at = array("d")  # of all others
        self._bootstrap = bootstrap
        self._topic = topic
        self._next = dict.fromkeys(range(partition_count), 0)

    def _work(self) -> None:
        while not self._stopped.is_set():
            reader = consumer(self._bootstrap)
            try:
                reader.assign([TopicPartition(self._topic, number, at) for number, at in self._next.items()])
                self._read_until_silent(reader)
            except KafkaException:
                continue  # a broker is away: a new consumer goes on where this one was
            finally:
                reader.close()

    def _read_until_silent(self, reader: Consumer) -> None:
        heard_at = time.monotonic()
        while not self._stopped.is_set() and time.monotonic() - heard_at < 5.0:
            messages = good_messages(reader.consume(2000, timeout=0.05))
            now = time.time()
            for message in messages:
                heard_at = time.monotonic()
                self._next[message.partition() or 0] = (message.offset() or 0) + 1
                self._take(message.value() or b"", now)

    def _take(self, value: bytes, now: float) -> None:
        fields = dict(_PAIR.findall(value))
        if self.numbers.see(int(fields[b"w"]), int(fields[b"n"])):
            self.arrived_at.append(now)
            self.delay_ms.append(now * 1000 - int(fields[b"at"]) / 1000)
        else:
            self.repeated_at.append(now)


_PAIR = re.compile(rb'"(n|w|at)": (\d+)')
