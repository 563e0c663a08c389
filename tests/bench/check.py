"""Whether what arrived is what was written: every event, in the order of its key. Pure.

An event may come more than once, which is counted and shown; its first arrival is the one whose order counts.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Delivered", "Verdict", "number_of"]

_PAYLOAD = b'{"n": '
_DATA = b'"data":{"n": '


@dataclass(frozen=True)
class Verdict:
    missing: int
    phantoms: int  # never written, or under another key
    reordered: int
    duplicates: int

    @property
    def is_good(self) -> bool:
        return self.missing == self.phantoms == self.reordered == 0

    def __str__(self) -> str:
        bad = f"{self.missing} missing, {self.phantoms} phantoms, {self.reordered} out of order"
        return f"{'all there' if self.is_good else bad}, {self.duplicates} duplicates"


class Delivered:
    """Takes the records of a drain, each partition's in its order; the rows were `first` … `first + count - 1`."""

    def __init__(self, first: int, count: int, key_count: int) -> None:
        self._first = first
        self._count = count
        self._key_count = key_count
        self._seen = bytearray(count)
        self._latest: dict[tuple[str | None, bytes], int] = {}  # by topic and key: the scope of order
        self._phantoms = self._reordered = self._duplicates = 0

    def take(self, topic: str | None, key: bytes | None, number: int) -> None:
        place = number - self._first
        if not 0 <= place < self._count or key != b"k%d" % (number % self._key_count):
            self._phantoms += 1
        elif self._seen[place]:
            self._duplicates += 1
        else:
            self._seen[place] = 1
            if number < self._latest.get((topic, key), -1):
                self._reordered += 1
            self._latest[topic, key] = number

    def verdict(self) -> Verdict:
        return Verdict(self._seen.count(0), self._phantoms, self._reordered, self._duplicates)


def number_of(value: bytes | None) -> int:
    """The row's number out of its payload, `{"n": 17, …`, alone or as an event's data; -1 where there is none."""
    if value is None:
        return -1
    _, found, rest = value.partition(_PAYLOAD if value.startswith(_PAYLOAD) else _DATA)
    return int(rest[: rest.index(b",")]) if found else -1
