"""The pause between two tries: longer each time, up to a limit, and over at once when the relay is to stop."""

from __future__ import annotations

import time

from cdc_relay.stats import Stats
from cdc_relay.stop import Stop

__all__ = ["Patience"]

_FIRST_SECONDS, _LONGEST_SECONDS = 0.1, 5.0


class Patience:
    def __init__(self, stats: Stats, stop: Stop) -> None:
        self._stats = stats
        self._stop = stop
        self._seconds = _FIRST_SECONDS

    def renew_after(self, seconds: float) -> None:
        """What went well for so long is no further try of the same."""
        if seconds > _LONGEST_SECONDS:
            self._seconds = _FIRST_SECONDS

    def pause(self) -> None:
        self.wait(self._seconds)
        self._seconds = min(self._seconds * 2, _LONGEST_SECONDS)

    def wait(self, seconds: float) -> None:
        """So long, and no longer the next time."""
        deadline = time.monotonic() + seconds
        while not self._stop.requested and time.monotonic() < deadline:
            self._stats.last_turn_at = time.monotonic()
            time.sleep(min(0.1, seconds))
