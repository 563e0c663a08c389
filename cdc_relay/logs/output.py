"""Where lines go: one after the other, each of them whole. Never raises, and never waits for its own thread.

Any allocation may collect garbage, and a finalizer that fails is logged there and then: in the middle of a line that
the same thread is writing. structlog's own loggers would wait for a lock which that very thread holds.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from typing import TextIO

__all__ = ["LineOutput"]


class LineOutput:
    """A logger for structlog, of which each method says a finished line."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream  # None where the process was started without one
        self._lock = threading.RLock()
        self._lines: deque[str] = deque()
        self._is_writing = False

    def say(self, line: str) -> None:
        with self._lock:
            self._lines.append(line + "\n")
            while self._lines and not self._is_writing:  # else we are inside of a write, which says this one next
                self._write_all()

    msg = log = debug = info = warning = error = critical = exception = say

    def _write_all(self) -> None:
        self._is_writing = True
        try:
            while self._lines:
                self._write(self._lines.popleft())
        finally:
            self._is_writing = False

    def _write(self, line: str) -> None:
        """A stream that is closed, full or torn has nobody to tell it to."""
        with suppress(OSError, ValueError, RuntimeError):
            if self._stream is not None:
                self._stream.write(line)
                self._stream.flush()
