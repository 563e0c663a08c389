"""At most so many rows a second, evenly. Pure: the clock is given."""

from __future__ import annotations

__all__ = ["Pace"]

_BURST_SECONDS = 0.1


class Pace:
    def __init__(self, rate: int | None) -> None:
        self._rate = rate
        self._allowed = 0.0
        self._at: float | None = None

    def allow(self, now: float) -> bool:
        """Whether one more may go; it is counted then."""
        if self._rate is None:
            return True
        if self._at is not None:
            burst = max(1.0, self._rate * _BURST_SECONDS)
            self._allowed = min(burst, self._allowed + (now - self._at) * self._rate)
        else:
            self._allowed = 1.0
        self._at = now
        if self._allowed < 1.0:
            return False
        self._allowed -= 1.0
        return True
