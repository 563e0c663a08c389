"""How soon the loop looks at its line again. A row that comes alone is looked at at once; of many, several together."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Pace"]

# From one look to the next while caught up. A turn costs 0.3 ms of CPU, whatever it brings: at 1,000 rows/s a turn for
# each row took a third of a core, and 3 ms take half of that away.
_LOOK_SECONDS = 0.003


class Pace:
    def __init__(self, clock: Callable[[], float], sleep: Callable[[float], None] = time.sleep) -> None:
        self.is_hurried = False  # there is more to read, or a strict key waits for each of its records
        self._clock = clock
        self._sleep = sleep
        self._looked_at = clock()

    def wait_for_next(self) -> float:
        """The time, when the next turn may begin."""
        now = self._clock()
        if not self.is_hurried and now < self._looked_at + _LOOK_SECONDS:
            self._sleep(self._looked_at + _LOOK_SECONDS - now)
            now = self._clock()
        self._looked_at = now
        return now
