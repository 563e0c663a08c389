"""Choices out of bytes, in order, so that a fuzzer's bytes become frames, rows and streams. Beyond the end all is 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

__all__ = ["Script"]

T = TypeVar("T")

_LONG = 255  # a size of one byte that says: two more bytes have it


class Script:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_over(self) -> bool:
        return self._at >= len(self._data)

    def byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def pick(self, options: Sequence[T]) -> T:
        return options[self.byte() % len(options)]

    def chunk(self) -> bytes:
        size = self.byte()
        if size == _LONG:
            size = self.byte() << 8 | self.byte()
        self._at += size
        return self._data[self._at - size : self._at]

    def rest(self) -> bytes:
        start, self._at = self._at, max(self._at, len(self._data))
        return self._data[start:]
