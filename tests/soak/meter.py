"""What the relay's process has, looked at from outside every few seconds."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil  # type: ignore[import-untyped]  # carries no types

from tests.fixtures.history.witness import Witness

__all__ = ["Meter", "Reading"]

PAUSE_SECONDS = 5.0


@dataclass(frozen=True)
class Reading:
    at: float  # by the wall clock
    rss_mb: float
    descriptor_count: int
    thread_count: int


class Meter(Witness):
    def __init__(self, pid: int) -> None:
        super().__init__("meter")
        self.readings: list[Reading] = []
        self._process = psutil.Process(pid)

    def _work(self) -> None:
        while not self._stopped.wait(PAUSE_SECONDS):
            self.readings.append(self._read())

    def _read(self) -> Reading:
        with self._process.oneshot():
            rss = self._process.memory_info().rss / 1e6
            return Reading(time.time(), rss, self._process.num_fds(), self._process.num_threads())
