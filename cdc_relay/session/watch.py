"""The look at the publication: on a clock, and before an idle position is confirmed.

Looking is the helper's work. What it finds changed it raises; a Postgres that does not answer is only warned of.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

import structlog

from cdc_relay.delivery.intake import Intake
from cdc_relay.errors import AwayError
from cdc_relay.stats import Stats

__all__ = ["Check", "CheckResult", "Watch"]

log = structlog.get_logger()


class CheckResult(Protocol):
    @property
    def lag_bytes(self) -> int | None: ...

    @property
    def room_bytes(self) -> tuple[int, int] | None: ...


Check = Callable[[], Future[Any]]  # of CheckResult; Future is invariant


class Watch:
    def __init__(self, check: Check, intake: Intake, *, stats: Stats, pause_seconds: float, now: float) -> None:
        self._check = check
        self._intake = intake
        self._stats = stats
        self._pause_seconds = pause_seconds
        self._check_at = now + pause_seconds
        self._checking: Future[Any] | None = None
        self._idle_lsn_under_check = 0

    @property
    def due_at(self) -> float | None:
        """None while a check is under way."""
        return self._check_at if self._checking is None else None

    def tend(self, now: float) -> None:
        if self._checking is None:
            if now >= self._check_at:
                self._checking = self._check()
                self._idle_lsn_under_check = self._intake.idle_lsn
        elif self._checking.done():
            future, self._checking = self._checking, None
            self._check_at = now + self._pause_seconds
            self._conclude(future)

    def _conclude(self, future: Future[Any]) -> None:
        """An idle position is confirmed only when the publication was seen unchanged after it was received."""
        try:
            result: CheckResult = future.result()
        except AwayError as exc:
            log.warning("check_failed", reason=exc.message)
            self._stats.note(f"check failed: {exc.message}")
            return
        self._stats.see_slot(result.lag_bytes, result.room_bytes)
        if self._idle_lsn_under_check:
            self._intake.confirm_idle(self._idle_lsn_under_check)
