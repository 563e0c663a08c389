"""Where a scale ends, and how its numbers are written."""

from __future__ import annotations

from math import floor, log10

__all__ = ["round_up", "short"]


def round_up(figure: float) -> float:
    """To a number whose quarters are short to write."""
    unit = 10 ** floor(log10(figure)) if figure > 0 else 1
    return next(unit * factor for factor in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10, 12) if unit * factor >= figure)


def short(figure: float) -> str:
    return f"{figure / 1000:g}k" if figure >= 1000 else f"{figure:g}"
