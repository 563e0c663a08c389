"""SIGINT, SIGTERM and SIGHUP as a wish to stop that the demo's main thread looks at.

The first one asks, the second one interrupts what is going on, further ones are ignored: cleaning up must finish.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from types import FrameType, TracebackType

__all__ = ["StopRequestedError", "StopSignals"]

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TICK_SECONDS = 0.05


class StopRequestedError(Exception):
    """The demo was asked to stop while it was waiting for something else."""


class StopSignals:
    """A plain counter and no threading.Event: setting one inside a signal handler may deadlock with its own wait."""

    def __init__(self) -> None:
        self._count = 0
        self._previous: dict[int, object] = {}

    @property
    def requested(self) -> bool:
        return self._count > 0

    def __enter__(self) -> StopSignals:
        for number in _NUMBERS:
            self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal() returned, it also takes

    def check(self) -> None:
        if self.requested:
            raise StopRequestedError

    def wait_until(self, is_reached: Callable[[], bool], *, timeout_seconds: float) -> bool:
        """False when the time is over; raises StopRequestedError when a signal comes first."""
        deadline = time.monotonic() + timeout_seconds
        while not is_reached():
            self.check()
            if time.monotonic() > deadline:
                return False
            time.sleep(_TICK_SECONDS)
        return True

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        if self._count == 2:
            raise KeyboardInterrupt
