"""`python -m tests.soak.plot FILE --to FILE.svg`: memory, file descriptors and latency over the hour, and its faults.

Every scale begins at zero, so that flat looks flat.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from tests.bench.scale import round_up, short
from tests.bench.svg import document, element, text

__all__ = ["draw"]

WIDTH, PANEL_HEIGHT, PLOT_HEIGHT = 760, 150, 96
LEFT, RIGHT, TOP = 60, 740, 34
COLORS = ("#b8471b", "#2e7d4f", "#1f5fa8")
GRID_COLOR, FAULT_COLOR, INK = "#dddddd", "#c8a2c8", "#333333"
STEPS = 2

Points = Sequence[tuple[float, float]]  # minutes since the beginning, and what was read


def draw(book: Mapping[str, Any]) -> str:
    faults = [(each["began_at"] - book["began_at"]) / 60 for each in book["disturbances"]]
    panels = _panels(book)
    minutes = max(minute for points in panels.values() for minute, _ in points)
    parts: list[str] = []
    for number, (name, points) in enumerate(panels.items()):
        parts += _panel(name, points, faults, minutes=minutes, number=number)
    height = PANEL_HEIGHT * len(panels) + 20
    parts.append(text("minutes", (LEFT + RIGHT) / 2, height - 6, font_size=12, text_anchor="middle", fill=INK))
    return document(WIDTH, height, parts)


def _panels(book: Mapping[str, Any]) -> dict[str, Points]:
    times = [(each, (each["at"] - book["began_at"]) / 60) for each in book["readings"]]
    return {
        "memory, MB": [(minute, each["rss_mb"]) for each, minute in times],
        "file descriptors": [(minute, each["descriptor_count"]) for each, minute in times],
        "p99 between faults, ms": [(int(at) + 0.5, delay) for at, delay in book["p99_ms_by_minute"].items()],
    }


def _panel(name: str, points: Points, faults: Sequence[float], *, minutes: float, number: int) -> Iterator[str]:
    top, color = TOP + number * PANEL_HEIGHT, COLORS[number]
    bottom, limit = top + PLOT_HEIGHT, round_up(max(figure for _, figure in points))

    def x_of(minute: float) -> float:
        return LEFT + (RIGHT - LEFT) * minute / minutes

    yield text(name, LEFT, top - 10, font_size=12, fill=color)
    for minute in faults:
        x = x_of(minute)
        yield element("line", **{"class": "fault"}, x1=x, y1=top, x2=x, y2=bottom, stroke=FAULT_COLOR)
    for step in range(STEPS + 1):
        y = bottom - PLOT_HEIGHT * step / STEPS
        yield element("line", x1=LEFT, y1=y, x2=RIGHT, y2=y, stroke=GRID_COLOR)
        yield text(short(limit * step / STEPS), LEFT - 8, y + 4, font_size=11, fill=color, text_anchor="end")
    for minute in range(0, int(minutes) + 1, 10):
        yield text(str(minute), x_of(minute), bottom + 16, font_size=11, fill=INK, text_anchor="middle")
    path = " ".join(f"{x_of(minute):.1f},{bottom - PLOT_HEIGHT * figure / limit:.1f}" for minute, figure in points)
    yield element("polyline", points=path, fill="none", stroke=color, stroke_width=1.5)


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--to", required=True, type=click.Path(path_type=Path, dir_okay=False))
def main(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(draw(json.loads(file.read_text())))


if __name__ == "__main__":
    main()
