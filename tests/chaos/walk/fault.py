"""What a fault is: it does its harm, lets it last for a while, and repairs it. Afterwards all works again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.chaos.walk.ground import Ground

__all__ = ["Fault", "Strike", "last"]

Strike = Callable[["Ground", random.Random], None]


@dataclass(frozen=True)
class Fault:
    name: str
    victims: tuple[str, ...]  # whom it hits or needs: of several faults at once none has one of another's
    strike: Strike
    repeats: bool = True  # what these excuse: tests/fixtures/history/facts.py
    rewinds: bool = False
    leaves_stale: bool = False
    replays: bool = False
    needs_bad_rows: bool = False
    is_lonely: bool = False  # its repair takes an operator who is not disturbed


def last(rng: random.Random, least_seconds: float, most_seconds: float) -> None:
    """The time that the harm lasts; the load goes on meanwhile."""
    time.sleep(rng.uniform(least_seconds, most_seconds))
