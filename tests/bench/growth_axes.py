"""What grows, as data: each axis with its points, and what is drained at each. Measures nothing itself.

Sizes are chosen so that an axis takes less than four minutes with its servers: a backlog is drained in a second or two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.bench.workloads import Workload
from tests.fixtures.relay_process import COLUMNS

__all__ = ["AXES", "Axis", "Point", "find_axis", "quick"]

QUICK_ROWS = 20_000
_ROUNDS = 3


@dataclass(frozen=True)
class Point:
    x: float
    workload: Workload
    sections: Mapping[str, Any] = field(default_factory=dict)  # of the relay's configuration
    topics: tuple[str, ...] = ()  # where the sections route elsewhere than by default
    parked: int = 0
    rounds: int = _ROUNDS
    looks_at_rest: bool = False  # also the start, and the CPU with nothing to do

    @property
    def label(self) -> str:
        return f"{self.x:,.0f}"


@dataclass(frozen=True)
class Axis:
    name: str
    title: str  # of the plot
    unit: str  # under its x axis
    points: tuple[Point, ...]
    quick_up_to: float  # larger ones make no quick look
    is_log: bool = True


def _load(axis: str, x: float, **changes: Any) -> Workload:
    """The point is in the name, and so in its topics: what is on them is counted."""
    return replace(Workload(f"{axis}-{x:.0f}", "", rows=200_000), **changes)


def _transaction(size: int) -> Point:
    rows = max(size, 200_000)
    return Point(size, _load("transaction", size, per_transaction=size, rows=rows))


def _payload(size: int) -> Point:
    """librdkafka takes 1 MB with all around it, unless it is told otherwise."""
    rows = min(200_000, 200_000_000 // size)
    sections = {"sink": {"kafka": {"message.max.bytes": 4_000_000}}}
    return Point(size, _load("payload", size, payload_bytes=size, rows=rows), sections=sections)


def _routes(count: int) -> Point:
    """As many kinds of event as routes, each with its own, all to one topic: so that only routing grows."""
    kinds = _load("routes", count, topic_count=count)
    topic = f"growth.{kinds.name}"
    routes = [{"when": {"aggregatetype": kind}, "topic": topic} for kind in kinds.aggregate_types()]
    outbox = {"table": "public.outbox", "columns": dict(COLUMNS), "routes": routes}
    return Point(count, kinds, sections={"outboxes": [outbox]}, topics=(topic,))


def _parked(count: int) -> Point:
    """The limit is raised, or the relay would hold. At rest it is looked at with none, and with many."""
    sections = {"parking": {"limit": {"records": 100_000_000, "bytes": 1 << 40}}}
    load = _load("parked", count, rows=100_000)
    return Point(count, load, sections=sections, parked=count, looks_at_rest=count != 1_000)


def _others(percent: int) -> Point:
    """Fewer of ours among many others: what is written stays about the same."""
    rows = round(200_000 * max(0.2, 1 - percent / 100))
    return Point(percent, _load("others", percent, other_share=percent / 100, rows=rows))


AXES = (
    Axis(
        "transaction",
        "Rows in one transaction",
        "rows per transaction",
        tuple(map(_transaction, (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000))),
        quick_up_to=10_000,
    ),
    Axis(
        "backlog",
        "Size of the backlog",
        "rows of backlog, 10 per transaction",
        tuple(Point(rows, _load("backlog", rows, rows=rows)) for rows in (10_000, 30_000, 100_000, 300_000, 1_000_000)),
        quick_up_to=QUICK_ROWS,
    ),
    Axis(
        "payload",
        "Size of the payload",
        "bytes of jsonb",
        tuple(map(_payload, (50, 270, 1_000, 10_000, 100_000, 1_000_000))),
        quick_up_to=1_000_000,
    ),
    Axis(
        "topics",
        "Number of topics",
        "topics, events spread evenly",
        tuple(Point(count, _load("topics", count, topic_count=count)) for count in (1, 5, 20, 100, 500)),
        quick_up_to=20,
    ),
    Axis(
        "parked",
        "Records in the parking lot",
        "parked records (0 at the left edge)",
        tuple(map(_parked, (0, 1_000, 100_000, 1_000_000))),
        quick_up_to=1_000,
    ),
    Axis(
        "routes",
        "Number of routes",
        "routes, events spread evenly",
        tuple(map(_routes, (1, 5, 20, 50, 200))),
        quick_up_to=200,
    ),
    Axis(
        "others",
        "Other traffic in the WAL",
        "% of all rows written, in tables that are not published",
        tuple(map(_others, (0, 20, 40, 60, 80, 90))),
        quick_up_to=90,
        is_log=False,
    ),
)


def find_axis(name: str) -> Axis:
    return next(axis for axis in AXES if axis.name == name)


def quick(axis: Axis) -> Axis:
    """Whether it works, not how fast: few rows, one round, no large points."""
    points = [_shrink(point) for point in axis.points if point.x <= axis.quick_up_to]
    return replace(axis, points=tuple(points))


def _shrink(point: Point) -> Point:
    load = point.workload
    return replace(point, rounds=1, workload=replace(load, rows=min(load.rows, QUICK_ROWS)))
