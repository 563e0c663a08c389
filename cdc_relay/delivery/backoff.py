"""When a parked record is tried again. Pure: chance is passed in."""

from __future__ import annotations

import math
from collections.abc import Callable

from cdc_relay.model import Retry

__all__ = ["AGGRESSIVE", "PRESETS", "STANDARD", "delay_seconds"]

STANDARD = Retry(base_seconds=5.0, max_seconds=1800.0, jitter=0.1, max_retries=5)
AGGRESSIVE = Retry(base_seconds=1.0, max_seconds=300.0, jitter=0.2, max_retries=3)
PRESETS = {"standard": STANDARD, "aggressive": AGGRESSIVE}


def delay_seconds(retry: Retry, attempts: int, random: Callable[[], float]) -> float:
    """min(base * 2^attempts, max), give or take the jitter's share of it; `random` gives numbers from 0 up to 1."""
    swing = retry.jitter * (2 * random() - 1)
    return _steady_seconds(retry, max(attempts, 0)) * (1 + swing)


def _steady_seconds(retry: Retry, attempts: int) -> float:
    try:
        return min(math.ldexp(retry.base_seconds, attempts), retry.max_seconds)
    except OverflowError:  # more than a float holds, so more than the maximum
        return retry.max_seconds
