"""The one helper thread: it does what may block, so that the loop never does.

The loop hands it jobs and looks at the futures each turn. Between two jobs it listens to one watched connection.
"""

from __future__ import annotations

import queue
import select
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

import structlog

__all__ = ["Helper", "Watched"]

log = structlog.get_logger()
T = TypeVar("T")


class Watched(Protocol):
    """A connection that may say something unasked."""

    def fileno(self) -> int | None: ...

    def look(self) -> None: ...


class Helper:
    """Jobs run one after the other, in the order they were handed in."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._bell, self._ear = socket.socketpair()
        self._bell.setblocking(False)
        self._thread = threading.Thread(target=self._work, name="cdc-relay-helper", daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        self._jobs.put((future, job))
        self._ring()
        return future

    def close(self, timeout_seconds: float = 2.0) -> None:
        """Daemonic: a job stuck in a dead connection does not keep the process."""
        self._jobs.put(None)
        self._ring()
        self._thread.join(timeout_seconds)

    def _ring(self) -> None:
        try:
            self._bell.send(b"!")
        except BlockingIOError:
            return  # the ear is full of rings already

    def _work(self) -> None:
        while True:
            self._listen()
            try:
                item = self._jobs.get_nowait()
            except queue.Empty:
                continue
            if item is None:
                return
            _run(*item)

    def _listen(self) -> None:
        if not self._jobs.empty():
            return
        watched = self._watched.fileno()
        sockets = [self._ear.fileno()] if watched is None else [self._ear.fileno(), watched]
        readable, _, _ = select.select(sockets, [], [])
        if self._ear.fileno() in readable:
            self._ear.recv(4096)
        elif watched is not None:
            self._look()

    def _look(self) -> None:
        """The thread outlives whatever the watched connection does: without it the relay would wait for ever."""
        try:
            self._watched.look()
        except Exception as exc:  # noqa: BLE001 - a job will meet the same trouble and report it to its asker
            log.warning("watch_failed", reason=str(exc))


def _run(future: Future[T], job: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(job())
    except BaseException as exc:  # noqa: BLE001 - whatever a job raises belongs to the one who asked for it
        future.set_exception(exc)
