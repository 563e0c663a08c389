"""One value of one metric."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Sample"]


class Sample(NamedTuple):
    name: str  # of a meter
    value: float
    labels: tuple[str, ...] = ()  # the values of the meter's own labels, in their order
