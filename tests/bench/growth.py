"""`python -m tests.bench.growth --out FILE.json`: what the relay's speed and memory do as the work grows.

Hot drains along the axes of growth_axes.py, each checked: one that lost, reordered or stalled ends the run. A relay of
its own for every point, so that its peak of memory is that point's. `tests.bench.plots` draws what was found.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from tests.bench.facts import machine_facts, require_compiled
from tests.bench.growth_axes import AXES, Axis, Point, find_axis, quick
from tests.bench.growth_rest import ParkedStage, look_at_rest
from tests.bench.hot import HotStage
from tests.bench.measure import WARM_ROWS, drain, warm
from tests.bench.measurement import Book, Measurement
from tests.bench.peers.relay import Relay
from tests.bench.servers import Servers, servers
from tests.bench.stage import Stage
from tests.bench.workloads import DEFAULT

__all__ = ["PART", "run_axis"]

PART = "growth"

Say = Callable[[object], None]


@click.command()
@click.option("--out", required=True, type=click.Path(path_type=Path, dir_okay=False), help="JSON with all rounds.")
@click.option("--only", type=click.Choice([axis.name for axis in AXES]), multiple=True, help="These axes.")
@click.option("--quick", "is_quick", is_flag=True, help="Small points, one round: whether it works, not how fast.")
def main(out: Path, only: tuple[str, ...], is_quick: bool) -> None:
    """Every axis has servers of its own, and may be run alone."""
    require_compiled()
    book = Book(out, machine_facts() | {"quick": is_quick})
    for axis in [find_axis(name) for name in only] or AXES:
        run_axis(book, quick(axis) if is_quick else axis, warms=not is_quick)


def run_axis(book: Book, axis: Axis, *, warms: bool = True) -> None:
    say = _make_say()
    with servers() as place:
        if warms:  # a fresh broker costs several times the CPU per event
            say(
                [
                    f"{each.events_per_s:,.0f}/s"
                    for each in drain(place, Relay("first"), replace(DEFAULT, rows=WARM_ROWS))
                ]
            )
        for point in axis.points:
            say(f"{axis.name} {point.label}: {point.workload.rows:,} rows, {point.rounds} rounds")
            _measure(book, axis, point, place, say)


def _measure(book: Book, axis: Axis, point: Point, place: Servers, say: Say) -> None:
    """Saved round by round; what was seen at rest belongs to the last one."""
    relay, hot = Relay(sections=point.sections, topics=point.topics), HotStage(_make_stage(place, point))
    try:
        hot.add([relay])
        warm(hot, WARM_ROWS, say)
        for number in range(point.rounds):
            [found] = hot.round(turn=number)
            say(f"{axis.name} {point.label}  {found}")
            megabytes = found.events_per_s * point.workload.payload_bytes / 1e6
            values = {"x": point.x, **found.values(), "payload_mb_per_s": megabytes}
            book.add(Measurement(PART, axis.name, point.label, number, values))
        if point.looks_at_rest:
            seen = look_at_rest(hot, relay)
            say(f"{axis.name} {point.label}  {seen}")
            book.add(Measurement(PART, axis.name, point.label, point.rounds, {"x": point.x, **seen}))
        hot.close()
    finally:
        relay.end()


def _make_stage(place: Servers, point: Point) -> Stage:
    if not point.parked:
        return Stage(place, point.workload)
    stage = ParkedStage(place, point.workload)
    stage.parked = point.parked
    return stage


def _make_say() -> Say:
    started = time.monotonic()
    return lambda text: print(f"{time.monotonic() - started:6.0f} s  {text}", flush=True)


if __name__ == "__main__":
    main()
