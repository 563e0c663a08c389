"""The one helper thread: it does what may block, so that the loop never does.

The loop hands it jobs and looks at the futures each turn; a bell tells it that one is done. Between two jobs it listens
to the watched connections.
"""

from __future__ import annotations

import queue
import select
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

import structlog

from cdc_relay.bell import Bell

__all__ = ["Helper", "Watched"]

log = structlog.get_logger()
T = TypeVar("T")


class Watched(Protocol):
    """A connection that may say something unasked."""

    def fileno(self) -> int | None: ...

    def look(self) -> None: ...


class Helper:
    """Jobs run one after the other, in the order they were handed in."""

    def __init__(self, *watched: Watched, bell: Bell | None = None) -> None:
        self._watched = watched
        self._done = bell or Bell()
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._bell = Bell()
        self._thread = threading.Thread(target=self._work, name="cdc-relay-helper", daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        self._jobs.put((future, job))
        self._bell.ring()
        return future

    def close(self, timeout_seconds: float = 2.0) -> None:
        """Daemonic: a job stuck in a dead connection does not keep the process."""
        self._jobs.put(None)
        self._bell.ring()
        self._thread.join(timeout_seconds)

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
            self._done.ring()

    def _listen(self) -> None:
        if not self._jobs.empty():
            return
        listening = {fileno: watched for watched in self._watched if (fileno := watched.fileno()) is not None}
        readable, _, _ = select.select([self._bell.fileno(), *listening], [], [])
        if self._bell.fileno() in readable:
            self._bell.hush()
            return
        for fileno in readable:
            self._look(listening[fileno])
            self._done.ring()

    def _look(self, watched: Watched) -> None:
        """The thread outlives whatever a watched connection does: without it the relay would wait for ever."""
        try:
            watched.look()
        except Exception as exc:  # a job will meet the same trouble and report it to its asker
            log.warning("watch_failed", exc_info=exc)


def _run(future: Future[T], job: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(job())
    except BaseException as exc:  # noqa: BLE001 - whatever a job raises belongs to the one who asked for it
        future.set_exception(exc)
