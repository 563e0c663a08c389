"""Warnings and errors that repeat themselves: the first is said, the rest are counted. For any thread.

Every line that is said stands for itself and for `repeated` more of its kind, so no count is ever lost: what was held
back is said by a timer when the time of its kind is over, or at the end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from structlog import DropEvent
from structlog.typing import EventDict, WrappedLogger

from cdc_relay.logs.kind import kind_of

__all__ = ["FIRST_SECONDS", "KIND_LIMIT", "LONGEST_SECONDS", "Collapse"]

FIRST_SECONDS = 10.0  # one line of a kind in so long; doubled while it goes on
LONGEST_SECONDS = 300.0
KIND_LIMIT = 200  # more are told apart by their event's name only
_LOUD = ("warning", "error", "critical")

Later = Callable[[float, Callable[[], None]], object]


@dataclass(slots=True)
class _Run:
    """Of one kind, since a line of it was last said."""

    until: float
    seconds: float = FIRST_SECONDS
    count: int = 0
    last: EventDict | None = None

    def take(self, now: float) -> tuple[EventDict | None, int]:
        """The last one that was held back, and how many were; the next one is held back for longer."""
        last, count = self.last, self.count
        self.seconds = min(self.seconds * 2, LONGEST_SECONDS) if count else FIRST_SECONDS
        self.until, self.count, self.last = now + self.seconds, 0, None
        return last, count


class Collapse:
    def __init__(
        self,
        say: Callable[[EventDict], None],
        *,
        clock: Callable[[], float] = time.monotonic,
        later: Later | None = None,
    ) -> None:
        self._say = say
        self._clock = clock
        self._later = later or _start_timer
        self._runs: dict[tuple[str, ...], _Run] = {}
        self._has_timer = False
        self._lock = threading.RLock()  # a warning may be raised, and logged, inside

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        if event["level"] not in _LOUD:
            return event
        with self._lock:
            now = self._clock()
            admitted, wait_seconds = self._admit(event, now), self._claim_timer(now)
        self._set_timer(wait_seconds)
        if admitted is None:
            raise DropEvent
        return admitted

    def flush(self) -> None:
        """At the end: whatever was held back."""
        with self._lock:
            said = self._take(lambda run: True, self._clock())
        for each in said:
            self._say(each)

    def _admit(self, event: EventDict, now: float) -> EventDict | None:
        """None: it is held back."""
        run = self._runs.get(kind := self._kind_of(event, now))
        if run is None:
            self._runs[kind] = _Run(now + FIRST_SECONDS)
            return event
        if now < run.until:
            run.count, run.last = run.count + 1, event
            return None
        _, count = run.take(now)
        return _repeated(event, count)

    def _kind_of(self, event: EventDict, now: float) -> tuple[str, ...]:
        kind = kind_of(event)
        if kind in self._runs or len(self._runs) < KIND_LIMIT:
            return kind
        self._runs = {each: run for each, run in list(self._runs.items()) if run.count or run.until > now}
        return kind if len(self._runs) < KIND_LIMIT else (kind[0],)

    def _claim_timer(self, now: float) -> float | None:
        """After how many seconds the timer that is missing must come; None: none is."""
        if self._has_timer or not (waiting := [run.until for run in self._all() if run.count]):
            return None
        self._has_timer = True
        return max(0.0, min(waiting) - now)

    def _set_timer(self, wait_seconds: float | None) -> None:
        """Without the lock: starting a thread waits for it, and it may log. Where none starts, the next line tries."""
        if wait_seconds is None:
            return
        try:
            self._later(wait_seconds, self._on_time)
        except RuntimeError:  # no more threads for this process, or it is ending
            self._has_timer = False

    def _on_time(self) -> None:
        with self._lock:
            now = self._clock()
            said = self._take(lambda run: run.until <= now, now)
            self._has_timer = False
            wait_seconds = self._claim_timer(now)
        self._set_timer(wait_seconds)
        for each in said:
            self._say(each)

    def _all(self) -> list[_Run]:
        """A copy: whatever is logged inside, by a finalizer say, may add one."""
        return list(self._runs.values())

    def _take(self, is_due: Callable[[_Run], bool], now: float) -> list[EventDict]:
        due = [run.take(now) for run in self._all() if run.count and is_due(run)]
        return [_repeated(last, count - 1) for last, count in due if last is not None]


def _repeated(event: EventDict, count: int) -> EventDict:
    return {**event, "repeated": count} if count else event


def _start_timer(seconds: float, call: Callable[[], None]) -> None:
    timer = threading.Timer(seconds, call)
    timer.name, timer.daemon = "cdc-relay-log", True
    timer.start()
