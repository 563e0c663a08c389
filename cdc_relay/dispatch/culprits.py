"""Who of a refused batch was it? Remembers who is under suspicion, and guesses, to save sending hundreds one by one.

A wrong guess costs a round trip, never a record: who is refused a second time, or looks guilty, is sent alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import structlog

from cdc_relay.delivery.gates import Position
from cdc_relay.dispatch.survey import find_placed
from cdc_relay.model import Failure, Record, Ticket
from cdc_relay.sinks.sink import Reject, Slip, TopicLimits

__all__ = ["Culprits", "Features", "find_largest", "looks_guilty"]

log = structlog.get_logger()

TOO_LARGE = ("MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE")
_NO_KEY = "INVALID_RECORD"  # of a compacted topic, above all
_NONE_YET = ""  # the verdict on a record that goes alone because of others like it

_HEAD_BYTES = 100  # of a batch with one record: 61 of the batch, some of the record, and names of headers


class Features(NamedTuple):
    """What makes a topic refuse a record."""

    keyless: bool = False
    size_bytes: int | None = None  # from this size on
    any_record: bool = False  # for a reason that cannot be seen on a record: a time, a policy

    @classmethod
    def of(cls, record: Record, failure: Failure) -> Features:
        if failure.code in TOO_LARGE:
            return cls(size_bytes=record.size_bytes)
        if failure.code == _NO_KEY and record.key is None:
            return cls(keyless=True)
        return cls(any_record=True)

    def widen(self, other: Features) -> Features:
        sizes = [size for size in (self.size_bytes, other.size_bytes) if size is not None]
        any_record = self.any_record or other.any_record
        return Features(self.keyless or other.keyless, min(sizes, default=None), any_record)

    def match(self, record: Record) -> bool:
        if self.any_record or (self.keyless and record.key is None):
            return True
        return self.size_bytes is not None and record.size_bytes >= self.size_bytes


class Culprits:
    """Records by their position in the stream, topics by what they refuse."""

    def __init__(self) -> None:
        self._suspects: dict[Position, str] = {}  # sent alone, and the batch's verdict
        self._bystanders: set[Position] = set()  # sent again as usual: another of the batch looked guilty
        self._narrow: set[str] = set()  # topics that refuse records together which they take alone
        self._wary: dict[str, Features] = {}  # by topic: what its culprits had in common
        self._limits: dict[str, Features] = {}  # by topic: what its configuration refuses
        self.wants_keys = False  # some topic does
        self.least_bytes: float = math.inf  # the least that some topic may refuse for its size

    def __bool__(self) -> bool:
        return bool(self._suspects or self._bystanders)

    def knows(self, topic: str) -> bool:
        """Some records of it travel alone."""
        return topic in self._narrow or topic in self._wary

    def learn(self, topic: str, limits: TopicLimits) -> None:
        """What its configuration says. A record of nearly the size that it takes is over it with its head."""
        size_bytes = None if limits.batch_bytes is None else max(0, limits.batch_bytes - _HEAD_BYTES)
        self._limits[topic] = Features(limits.needs_key, size_bytes)
        self.wants_keys = self.wants_keys or limits.needs_key
        if size_bytes is not None:
            self.least_bytes = min(self.least_bytes, size_bytes)

    def sets_apart(self, record: Record, slip: Slip) -> bool:
        """Whether it goes alone from the start: others like it were refused, or took their batch with them."""
        topic = record.topic
        is_known = topic in self._wary or topic in self._narrow or record.size_bytes >= self.least_bytes
        if not is_known and (record.key is not None or not self.wants_keys):
            return False  # the usual case, for each strict record: without the rest
        found = (self._wary.get(topic), self._limits.get(topic))
        if topic in self._narrow or any(features is not None and features.match(record) for features in found):
            self._suspects.setdefault(slip.position, _NONE_YET)
            return True
        return False

    def suspect(self, reject: Reject, largest: dict[str, int]) -> bool:
        """Whether it is sent again alone; else once more as usual, for a batch has many innocent ones."""
        position = reject.slip.position
        if not looks_guilty(reject, largest) and position not in self._bystanders:
            self._bystanders.add(position)
            return False
        self._bystanders.discard(position)
        self._suspects[position] = reject.failure.code
        return True

    def find_suspected(self, tickets: list[Ticket]) -> list[Ticket]:
        return find_placed(tickets, self._suspects.keys() | self._bystanders)

    def acquit(self, slip: Slip) -> None:
        """It was delivered. What a topic takes alone and not together is narrow; what it used to refuse, repaired."""
        self._bystanders.discard(slip.position)
        verdict = self._suspects.pop(slip.position, None)
        if verdict == _NONE_YET:
            self._wary.pop(slip.topic, None)
            self._limits.pop(slip.topic, None)
        elif verdict in TOO_LARGE and slip.topic not in self._narrow:
            self._narrow.add(slip.topic)
            log.warning(
                "topic_is_narrow", topic=slip.topic, remedy="set batch.size below the topic's max.message.bytes"
            )

    def convict(self, record: Record, slip: Slip, failure: Failure) -> None:
        """It failed for good, alone perhaps: then others like it travel alone from now on, if they did not before.

        Topics that this is known of cost each of their records a look.
        """
        limits = self._limits.get(record.topic)
        if self.forget(slip) and not (limits is not None and limits.match(record)):
            features = Features.of(record, failure)
            known = self._wary.get(record.topic)
            self._wary[record.topic] = features if known is None else known.widen(features)

    def forget(self, slip: Slip) -> bool:
        """No verdict will come; whether it was under suspicion."""
        self._bystanders.discard(slip.position)
        return self._suspects.pop(slip.position, None) is not None


def find_largest(rejects: Iterable[Reject]) -> dict[str, int]:
    """By topic, the size of the largest record that was refused for a size."""
    largest: dict[str, int] = {}
    for reject in rejects:
        if reject.failure.code in TOO_LARGE:
            topic, size = reject.record.topic, reject.record.size_bytes
            largest[topic] = max(size, largest.get(topic, 0))
    return largest


def looks_guilty(reject: Reject, largest: dict[str, int]) -> bool:
    if reject.failure.code in TOO_LARGE:
        return reject.record.size_bytes * 2 > largest[reject.record.topic]
    return reject.failure.code != _NO_KEY or reject.record.key is None
