"""UUIDs of version 7 (RFC 9562): made later in a process, greater. Python has its own from 3.14 on."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from secrets import randbits
from uuid import UUID

__all__ = ["Clock", "uuid7"]

_RANDOM_BITS = 74  # rand_a and rand_b together
_VERSION, _VARIANT = 0x7 << 76, 0b10 << 62


class Clock:
    """122 bits that only grow: milliseconds, then random bits; within a millisecond random steps (RFC 9562, 6.2).

    While the clock is set back the last millisecond goes on; steps that fill it borrow from the next one.
    """

    def __init__(self, read_ns: Callable[[], int] = time.time_ns) -> None:
        self._read_ns = read_ns
        self._lock = threading.Lock()
        self._last = 0

    def tick(self) -> int:
        fresh = self._read_ns() // 1_000_000 << _RANDOM_BITS | randbits(_RANDOM_BITS - 1)  # the top bit is room to grow
        with self._lock:
            is_later = fresh >> _RANDOM_BITS > self._last >> _RANDOM_BITS
            self._last = fresh if is_later else self._last + 1 + randbits(48)
            return self._last


_clock = Clock()


def uuid7() -> UUID:
    return _build(_clock.tick())


def _build(ticks: int) -> UUID:
    milliseconds, rand_a, rand_b = ticks >> 74, ticks >> 62 & 0xFFF, ticks & (1 << 62) - 1
    return UUID(int=milliseconds << 80 | _VERSION | rand_a << 64 | _VARIANT | rand_b)


def _restart() -> None:
    """In a forked child: a thread of the parent may have held the lock, and both would take the same steps."""
    global _clock
    _clock = Clock()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_restart)
