"""`python -m tests.bench.report FILE…`: the tables of one or more runs, in markdown: medians, ratios, and the goals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tests.bench.columns import COSTS, FIRST_RECORD, RATE, RSS_PEAK, Column, head, row
from tests.bench.goals import GOALS, Goal
from tests.bench.measurement import Book, Measurement, load
from tests.bench.peers.names import RELAY, TUNED_DEBEZIUM
from tests.bench.workloads import WORKLOADS

__all__ = ["render"]

# What a part's table shows; the first column is the one of the ratios and of the single rounds.
_COLUMNS: dict[str, tuple[Column, ...]] = {
    "hot": (RATE, *COSTS),
    "cold": (RATE, FIRST_RECORD, *COSTS),
    "start": (FIRST_RECORD, RSS_PEAK),
    "latency": (
        Column("p50 ms", "p50_ms", ".1f"),
        Column("p99 ms", "p99_ms", ".1f"),
        Column("max ms", "max_ms", ".0f"),
        Column("CPU %", "cpu_percent", ".1f"),
        Column("written/s", "written_per_s", ",.0f"),
    ),
    "idle": (Column("CPU %", "cpu_percent", ".2f"),),
    "tenants": (RATE, *COSTS),
    "strict": (RATE, *COSTS),
    "bad-rows": (RATE,),
}


SHARES = tuple(column for column in COSTS if column.value in ("connector_us", "all_us", "rss_peak_mb"))


def render(book: Book) -> str:
    lines = [f"{name}: {fact}" for name, fact in book.facts.items()]
    for part, columns in _COLUMNS.items():
        for workload in dict.fromkeys(entry.workload for entry in book.entries if entry.part == part):
            lines += ["", f"### {part}, {workload}", "", *_table(book, part, workload, columns)]
    lines += ["", "### hot, all workloads", "", *_overview(book)]
    return "\n".join([*lines, "", "### goals", "", *_goals(book)])


def _table(book: Book, part: str, workload: str, columns: Sequence[Column]) -> Iterator[str]:
    peers = dict.fromkeys(entry.peer for entry in book.entries if (entry.part, entry.workload) == (part, workload))
    base_peer = TUNED_DEBEZIUM if TUNED_DEBEZIUM in peers else next(iter(peers))
    yield from head(["", *(column.title for column in columns), f"of {base_peer}", f"rounds, {columns[0].title}"])
    for peer in peers:
        medians = [book.median(part, workload, peer, column.value) for column in columns]
        base = book.median(part, workload, base_peer, columns[0].value)
        ratio = f"{medians[0] / base:.2f}" if base and medians[0] is not None else ""
        rounds = [_round(entry, columns[0]) for entry in book.of(part, workload, peer)]
        cells = [column.cell(median) for column, median in zip(columns, medians, strict=True)]
        yield row([peer, *cells, ratio, " / ".join(rounds)])


def _overview(book: Book) -> Iterator[str]:
    """The relay beside the tuned Debezium, a line per workload that both drained."""
    yield from head(
        ["", f"{RELAY}, events/s", f"{TUNED_DEBEZIUM}, events/s", "ratio", *(f"{each.title}, ratio" for each in SHARES)]
    )
    for workload in WORKLOADS:
        mine, theirs = (book.median("hot", workload.name, peer, RATE.value) for peer in (RELAY, TUNED_DEBEZIUM))
        if mine and theirs:
            shares = [_share(book, workload.name, column.value) for column in SHARES]
            yield row(
                [
                    f"{workload.name}: {workload.about}",
                    RATE.cell(mine),
                    RATE.cell(theirs),
                    f"{mine / theirs:.2f}",
                    *shares,
                ]
            )


def _share(book: Book, workload: str, value: str) -> str:
    mine, theirs = (book.median("hot", workload, peer, value) for peer in (RELAY, TUNED_DEBEZIUM))
    return f"{mine / theirs:.2f}" if mine and theirs else ""


def _round(entry: Measurement, column: Column) -> str:
    """With the records that came twice, which a peer's time contains; and whether the medians leave it out."""
    again = entry.values.get("duplicates", 0)
    marks = (f" ({again:,.0f} twice)" if again else "") + ("" if entry.counts else " (writers behind)")
    return column.cell(entry.values[column.value]) + marks


def _goals(book: Book) -> Iterator[str]:
    yield from head(["what", "floor", "goal", "reached", ""])
    for goal in GOALS:
        reached = goal.reached(book)
        figure, verdict = ("", "not measured") if reached is None else (_figure(goal, reached.figure), str(reached))
        yield row([goal.what, _figure(goal, goal.floor), _figure(goal, goal.goal), figure, verdict])


def _figure(goal: Goal, figure: float | None) -> str:
    return "" if figure is None else f"{figure:.{0 if goal.unit == 'MB' else 2}f} {goal.unit}"


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
def main(files: tuple[Path, ...]) -> None:
    print(render(load(files)))


if __name__ == "__main__":
    main()
