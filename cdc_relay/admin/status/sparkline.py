"""Figures over time as one line of bars. Pure."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["sparkline"]

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None], *, length: int) -> str:
    """The last ones, from zero to the highest of those shown; a blank where there is no value."""
    shown = values[-length:]
    top = max((value for value in shown if value is not None), default=0.0)
    return "".join(" " if value is None else _bar(value, top) for value in shown)


def _bar(value: float, top: float) -> str:
    return _BARS[0] if top <= 0 else _BARS[round(max(value, 0) / top * (len(_BARS) - 1))]
