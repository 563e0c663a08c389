"""The wish to stop, as something that a signal handler can set and that a select() can wait for."""

from __future__ import annotations

import socket

__all__ = ["Stop"]


class Stop:
    def __init__(self) -> None:
        self.requested = False
        self._bell, self._ear = socket.socketpair()

    def request(self) -> None:
        """Safe in a signal handler. The byte is never read, so that every later wait returns at once."""
        if not self.requested:
            self.requested = True
            self._bell.send(b"!")

    def fileno(self) -> int:
        return self._ear.fileno()
