"""`python -m tests.bench.plots FILE… --to DIRECTORY`: an SVG per axis of `tests.bench.growth`, and its table.

Medians of the rounds: events/s on the left, peak memory on the right. Both begin at zero, so that flat looks flat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import log10
from pathlib import Path

import click

from tests.bench.columns import COSTS, RATE, Column, head, row
from tests.bench.growth import PART
from tests.bench.growth_axes import AXES, Axis
from tests.bench.measurement import Book, load
from tests.bench.scale import round_up, short
from tests.bench.svg import document, element, text

__all__ = ["draw", "tabulate"]

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 70, 570, 46, 246
RATE_COLOR, MEMORY_COLOR, GRID_COLOR, INK = "#1f5fa8", "#b8471b", "#dddddd", "#333333"
STEPS = 4

Values = Sequence[float]


COLUMNS = (
    RATE,
    Column("MB/s of payload", "payload_mb_per_s", ".0f"),
    *COSTS,
    Column("start to first record s", "first_record_s", ".2f"),
    Column("idle: relay CPU %", "idle_cpu_percent", ".2f"),
    Column("idle: Postgres CPU %", "idle_postgres_cpu_percent", ".2f"),
)


def tabulate(book: Book, axis: Axis) -> Iterator[str]:
    """Columns that nothing was found for are left out."""
    points = _measured(book, axis)
    columns = [column for column in COLUMNS if any(_median(book, axis, label, column.value) for label, _ in points)]
    yield from head([axis.unit, *(column.title for column in columns), f"rounds, {RATE.title}"])
    for label, _ in points:
        medians = [column.cell(_median(book, axis, label, column.value)) for column in columns]
        yield row([label, *medians, " / ".join(map(RATE.cell, _rates(book, axis, label)))])


def draw(book: Book, axis: Axis) -> str:
    points = _measured(book, axis)
    places = _spread([x for _, x in points], is_log=axis.is_log)
    parts = [text(axis.title, WIDTH / 2, 22, font_size=15, text_anchor="middle", fill=INK)]
    parts += _grid(zip(places, (label for label, _ in points), strict=True))
    parts.append(text(axis.unit, (LEFT + RIGHT) / 2, HEIGHT - 12, font_size=12, text_anchor="middle", fill=INK))
    for value, color, name, side in (
        ("events_per_s", RATE_COLOR, "events/s", LEFT),
        ("rss_peak_mb", MEMORY_COLOR, "peak RSS, MB", RIGHT),
    ):
        figures = [_median(book, axis, label, value) or 0.0 for label, _ in points]
        parts += _curve(places, figures, color=color, name=name, side=side)
    return document(WIDTH, HEIGHT, parts)


def _curve(places: Values, figures: Values, *, color: str, name: str, side: float) -> Iterator[str]:
    """With its scale on the side where it is read."""
    top, is_left = round_up(max(figures)), side == LEFT
    anchor, shift = ("end", -8) if is_left else ("start", 8)
    yield text(name, side, TOP - 14, font_size=12, fill=color, text_anchor="middle")
    for step in range(STEPS + 1):
        height = BOTTOM - (BOTTOM - TOP) * step / STEPS
        yield text(short(top * step / STEPS), side + shift, height + 4, font_size=11, fill=color, text_anchor=anchor)
    line = [(place, BOTTOM - (BOTTOM - TOP) * figure / top) for place, figure in zip(places, figures, strict=True)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
    yield element("polyline", points=path, fill="none", stroke=color, stroke_width=2)
    for x, y in line:
        yield element("circle", cx=x, cy=y, r=3.5, fill=color)


def _grid(columns: Iterator[tuple[float, str]]) -> Iterator[str]:
    for step in range(STEPS + 1):
        y = BOTTOM - (BOTTOM - TOP) * step / STEPS
        yield element("line", x1=LEFT, y1=y, x2=RIGHT, y2=y, stroke=GRID_COLOR)
    for x, label in columns:
        yield element("line", x1=x, y1=TOP, x2=x, y2=BOTTOM, stroke=GRID_COLOR)
        yield text(label, x, BOTTOM + 18, font_size=11, text_anchor="middle", fill=INK)


def _spread(xs: Values, *, is_log: bool) -> list[float]:
    """Where points are drawn. Zero has no place on a logarithmic axis: it is at the left edge, a decade away."""
    if is_log:
        least = min((x for x in xs if x > 0), default=1.0)
        xs = [log10(x) if x > 0 else log10(least) - 1 for x in xs]
    first, width, margin = xs[0], (xs[-1] - xs[0]) or 1, 20
    return [LEFT + margin + (RIGHT - LEFT - 2 * margin) * (x - first) / width for x in xs]


def _measured(book: Book, axis: Axis) -> list[tuple[str, float]]:
    found = {
        entry.peer: entry.values["x"] for entry in book.entries if (entry.part, entry.workload) == (PART, axis.name)
    }
    return sorted(found.items(), key=lambda each: each[1])


def _median(book: Book, axis: Axis, label: str, value: str) -> float | None:
    return book.median(PART, axis.name, label, value)


def _rates(book: Book, axis: Axis, label: str) -> list[float]:
    rounds = book.of(PART, axis.name, label)
    return [entry.values["events_per_s"] for entry in rounds if "events_per_s" in entry.values]


def _write(book: Book, directory: Path, say: Callable[[str], None]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for axis in AXES:
        if _measured(book, axis):
            (directory / f"growth-{axis.name}.svg").write_text(draw(book, axis))
            say(f"\n### {axis.title}\n\n![{axis.title}](benchmarks/growth-{axis.name}.svg)\n")
            say("\n".join(tabulate(book, axis)))


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--to", "directory", required=True, type=click.Path(path_type=Path, file_okay=False))
def main(files: tuple[Path, ...], directory: Path) -> None:
    _write(load(files), directory, print)


if __name__ == "__main__":
    main()
