"""The guard's ceiling as the loop sees it: raised by the helper, on a clock, before a status update may pass it.

Every raise is a commit in the database that we read: an idle database must not be kept busy by it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

import structlog

from cdc_relay.delivery.ledger import Ledger
from cdc_relay.errors import AwayError

__all__ = ["Ceiling", "Raise"]

log = structlog.get_logger()

Raise = Callable[[int], Future[None]]  # durable once the future is done

_SETTLED_SECONDS = 1.0  # between two raises, for settled records
_LONGEST_TROUBLE_SECONDS = 10.0  # a try may keep the helper from the lot for as long as a connection takes
_IDLE_SECONDS = 10.0  # for positions without records
_LONGEST_IDLE_SECONDS = 600.0
_QUIET_BYTES = 16 << 10  # a smaller move may be the last raise's own WAL: each time the pause is doubled


class Ceiling:
    def __init__(self, ledger: Ledger, raise_to: Raise, *, now: float) -> None:
        self.trouble = ""  # why it cannot be raised now
        self._ledger = ledger
        self._raise_to = raise_to
        self._rising: Future[None] | None = None
        self._rising_lsn = 0
        self._begun_at = now - _SETTLED_SECONDS  # the first records do not wait
        self._quiet_seconds = _IDLE_SECONDS
        self._trouble_seconds = _SETTLED_SECONDS

    @property
    def is_reached(self) -> bool:
        """Everything safe may be confirmed."""
        return self._ledger.safe_lsn <= self._ledger.ceiling_lsn

    @property
    def due_at(self) -> float | None:
        """When `tend` has something to begin; None while there is nothing, or while it is under way."""
        return None if self._rising is not None or self.is_reached else self._begun_at + self._pause()

    def urge(self) -> None:
        """Whatever is safe is to be confirmed soon: no clock is waited for."""
        self._begun_at = -_LONGEST_IDLE_SECONDS

    def tend(self, now: float) -> bool:
        """True when it has been raised: there is something new to confirm."""
        has_risen = self._rising is not None and self._rising.done() and self._conclude(self._rising, now)
        due_at = self.due_at
        if due_at is not None and now >= due_at:
            self._begin(now)
        return has_risen

    def _pause(self) -> float:
        ledger = self._ledger
        if self.trouble:
            return self._trouble_seconds
        if ledger.settled_lsn > ledger.ceiling_lsn:
            return _SETTLED_SECONDS
        return _IDLE_SECONDS if ledger.safe_lsn - ledger.ceiling_lsn >= _QUIET_BYTES else self._quiet_seconds

    def _begin(self, now: float) -> None:
        ledger = self._ledger
        is_quiet = ledger.settled_lsn <= ledger.ceiling_lsn and ledger.safe_lsn - ledger.ceiling_lsn < _QUIET_BYTES
        self._quiet_seconds = min(self._quiet_seconds * 2, _LONGEST_IDLE_SECONDS) if is_quiet else _IDLE_SECONDS
        self._begun_at, self._rising_lsn = now, ledger.safe_lsn
        self._rising = self._raise_to(ledger.safe_lsn)

    def _conclude(self, rising: Future[None], now: float) -> bool:
        self._rising = None
        try:
            rising.result()
        except AwayError as exc:
            self._begun_at = now
            self._trouble_seconds = min(self._trouble_seconds * 2, _LONGEST_TROUBLE_SECONDS)
            if exc.message != self.trouble:
                self.trouble = exc.message
                log.warning("guard_trouble", reason=exc.message, remedy=exc.remedy or None)
            return False
        self.trouble, self._trouble_seconds = "", _SETTLED_SECONDS
        self._ledger.ceiling_lsn = self._rising_lsn
        return True
