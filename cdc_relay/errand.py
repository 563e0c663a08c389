"""Things for the helper to write down: gathered while it is busy, and tried again until it succeeds.

Runs on the loop's thread and never blocks. What was not written down is not done: the caller is told when it is.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

import structlog

from cdc_relay.errors import AwayError

__all__ = ["Errand"]

log = structlog.get_logger()
T = TypeVar("T")

_RETRY_SECONDS = 1.0
# With one bad row in a hundred, in batches of fifteen, 1,000 of them cost loop and helper 132 ms of CPU; gathered, 63.
_GATHER_SECONDS = 0.05
_GATHER_COUNT = 256


class Errand(Generic[T]):
    def __init__(
        self, name: str, *, write: Callable[[list[T]], Future[None]], on_written: Callable[[list[T]], None]
    ) -> None:
        self.trouble = ""  # why nothing can be written down now
        self.added_count = 0
        self.written_count = 0  # in the order in which they were added
        self._name = name
        self._write = write
        self._on_written = on_written
        self._gathered: list[T] = []
        self._batch: list[T] = []
        self._future: Future[None] | None = None
        self._retry_at = 0.0
        self._gathers_until = 0.0  # of what is gathered, once somebody looked

    @property
    def unwritten_count(self) -> int:
        return self.added_count - self.written_count

    @property
    def is_idle(self) -> bool:
        return not self._gathered and not self._batch

    @property
    def is_ready(self) -> bool:
        """There is something that only waits for the next `tend`."""
        return bool(self._gathered) and self._future is None and not self.trouble

    def add(self, item: T) -> None:
        self._gathered.append(item)
        self.added_count += 1

    def tend(self, now: float, *, may_gather: bool = False) -> None:
        """`may_gather`: there is no hurry, more may come to go with it."""
        if self._future is not None:
            if not self._future.done():
                return
            self._conclude(self._future, now)
        if now < self._retry_at or not (self._batch or self._gathered):
            return
        if may_gather and not self._batch and self._is_gathering(now):
            return
        self._batch += self._gathered  # what was refused goes first
        self._gathered, self._gathers_until = [], 0.0
        self._future = self._write(self._batch)

    def _is_gathering(self, now: float) -> bool:
        self._gathers_until = self._gathers_until or now + _GATHER_SECONDS
        return now < self._gathers_until and len(self._gathered) < _GATHER_COUNT

    def _conclude(self, future: Future[None], now: float) -> None:
        self._future = None
        try:
            future.result()
        except AwayError as exc:
            self._retry_at = now + _RETRY_SECONDS
            if exc.message != self.trouble:
                self.trouble = exc.message
                log.warning("lot_trouble", doing=self._name, reason=exc.message, remedy=exc.remedy or None)
            return
        batch, self._batch, self.trouble = self._batch, [], ""
        self.written_count += len(batch)
        self._on_written(batch)
