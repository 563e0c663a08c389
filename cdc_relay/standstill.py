"""Whether this process stood still: suspended, swapped out, or on a machine that was."""

from __future__ import annotations

import time
from collections.abc import Callable

from cdc_relay.errors import SourceError

__all__ = ["Standstill"]


class Standstill:
    """Time that passed while the loop's thread did not work: a large row may take seconds.

    Twice the limit is too long in any case: by then Postgres has given the line up.
    """

    def __init__(self, now: float, limit_seconds: float, *, worked: Callable[[], float] = time.thread_time) -> None:
        self._limit_seconds = limit_seconds
        self._worked = worked
        self.forgive(now)

    def forgive(self, now: float) -> None:
        """Up to now it was known: the loop waited for something else."""
        self._since, self._worked_since = now, self._worked()

    def notice(self, now: float) -> None:
        """A process that stood still may have been replaced: publish nothing more on this line."""
        worked_until = self._worked()  # once: a system call, in every turn
        away, worked = now - self._since, worked_until - self._worked_since
        self._since, self._worked_since = now, worked_until
        if away - worked > self._limit_seconds or away > 2 * self._limit_seconds:
            raise SourceError(f"this process stood still for {away:.1f} s: the replication line cannot be trusted")
