"""Something that one thread rings and that another can wait for in a select(), beside its sockets."""

from __future__ import annotations

import select
import socket

__all__ = ["Bell"]


class Bell:
    def __init__(self) -> None:
        self._clapper, self._ear = socket.socketpair()
        self._clapper.setblocking(False)
        self._ear.setblocking(False)

    def ring(self) -> None:
        try:
            self._clapper.send(b"!")
        except BlockingIOError:
            return  # the ear is full of rings already

    def hush(self) -> None:
        """Forget the rings so far: what they announced is looked at next."""
        try:
            self._ear.recv(4096)
        except BlockingIOError:
            return

    def wait(self, timeout_seconds: float) -> None:
        select.select([self._ear], [], [], timeout_seconds)

    def fileno(self) -> int:
        return self._ear.fileno()
