"""Is a number still growing? Pure; the caller brings the clock."""

from __future__ import annotations

__all__ = ["Progress"]


class Progress:
    def __init__(self, now: float, *, patience_seconds: float) -> None:
        self._patience_seconds = patience_seconds
        self._changed_at = now
        self._count = 0

    def has_stalled(self, count: int, now: float) -> bool:
        if count != self._count:
            self._count, self._changed_at = count, now
        return now - self._changed_at > self._patience_seconds
