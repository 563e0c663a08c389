"""A file descriptor that lines are written to, never waiting longer than asked: a terminal, pipe, socket or file.

Translates the errors of the operating system; knows nothing of records.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path

from cdc_relay.errors import AwayError, RefusedError, RelayError

__all__ = ["LineOutput", "open_stdout"]

_CHECK_SECONDS = 1.0
_FILE_BYTES = 1 << 20
_GONE = (errno.EPIPE, errno.ECONNRESET, errno.EBADF)
_GONE_EVENTS = select.POLLERR | select.POLLHUP | select.POLLNVAL


def open_stdout() -> LineOutput:
    """Python has no sys.stdout where it was closed at the start: number 1 may be anybody's by now."""
    if sys.stdout is None:
        raise _gone("it is closed")
    return LineOutput(sys.stdout.fileno())


class LineOutput:
    """Owns a descriptor of its own. The flags of the given one stay as they are: others write there, too."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = _reopen(descriptor)
        self._is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        # What poll() calls ready takes this much without blocking; a file never lets anybody wait.
        self._most_bytes = _FILE_BYTES if self._is_file else select.PIPE_BUF
        self.is_mid_line = self._is_file and _is_mid_line(self._descriptor)

    def write(self, data: memoryview, *, deadline: float) -> int:
        """How much of it was taken; nothing when there is no room until then. AwayError, RefusedError."""
        if not self._is_file and not self._events(max(0.0, deadline - time.monotonic())):
            return 0
        try:
            return os.write(self._descriptor, data[: self._most_bytes])
        except BlockingIOError:
            return 0
        except OSError as exc:
            raise _translate(exc) from exc

    def check(self) -> None:
        """AwayError while it takes nothing, RefusedError when it never will again. For any thread."""
        events = self._events(_CHECK_SECONDS)
        if events & _GONE_EVENTS:
            raise _gone("nobody reads it any more")
        if not events:
            raise AwayError("standard output takes nothing", remedy="let its reader go on reading")

    def close(self) -> None:
        os.close(self._descriptor)

    def _events(self, timeout_seconds: float) -> int:
        poller = select.poll()  # a new one each time: two threads may not share it
        poller.register(self._descriptor, select.POLLOUT)
        return next((events for _, events in poller.poll(timeout_seconds * 1000)), 0)


def _reopen(descriptor: int) -> int:
    """A terminal that is called ready may have room for a few bytes only: opened once more, it need not block."""
    if os.isatty(descriptor):
        with suppress(OSError):
            return os.open(os.ttyname(descriptor), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    return os.dup(descriptor)


def _is_mid_line(descriptor: int) -> bool:
    """What a process that was killed left of its last line. Where it cannot be read, an empty line does no harm."""
    if not os.fstat(descriptor).st_size:
        return False
    try:
        with Path(f"/dev/fd/{descriptor}").open("rb") as file:  # it is open for writing only
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
    except OSError:
        return True


def _translate(exc: OSError) -> RelayError:
    if exc.errno in _GONE:
        return _gone(exc.strerror or "it is closed")
    return AwayError(f"standard output takes nothing: {exc.strerror}", remedy="make room where it goes")


def _gone(reason: str) -> RefusedError:
    return RefusedError(
        f"sink.log cannot write to standard output: {reason}",
        remedy="start the relay again with a reader (| less), or with a file (>> records.jsonl); what is unconfirmed"
        " comes again",
    )
