"""What a panel of the dashboard is, apart from Grafana's format."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

__all__ = ["Kind", "Panel", "Query", "Row", "figure"]


class Kind(Enum):
    """Grafana's names."""

    LINES = "timeseries"
    FIGURE = "stat"
    HEATMAP = "heatmap"
    STATES = "state-timeline"


class Query(NamedTuple):
    expr: str
    legend: str = "{{service}}"


class Panel(NamedTuple):
    title: str
    description: str  # what it means, and what to do
    queries: tuple[Query, ...]
    unit: str = "short"
    runbook: str = ""  # a heading of docs/operations.md
    kind: Kind = Kind.LINES
    limits: tuple[float, ...] = ()  # yellow and red, or red alone
    less_is_worse: bool = False
    minimum: float | None = 0
    width: int = 8
    height: int = 8


class Row(NamedTuple):
    title: str
    panels: tuple[Panel, ...]


def figure(
    title: str, description: str, query: str, *, unit: str = "short", limits: tuple[float, ...] = (), runbook: str = ""
) -> Panel:
    return Panel(title, description, (Query(query),), unit, runbook, kind=Kind.FIGURE, limits=limits, width=4, height=4)
