"""`python -m tests.bench.report FILE…`: the tables of one or more runs, in markdown: medians, and ratios."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from tests.bench.measurement import Book, load

__all__ = ["render"]

_DRAIN = (
    ("events/s", "events_per_s", ",.0f"),
    ("connector us", "connector_us", ".1f"),
    ("Postgres us", "postgres_us", ".1f"),
    ("broker us", "broker_us", ".1f"),
    ("sum us", "all_us", ".1f"),
    ("peak RSS MB", "rss_peak_mb", ".0f"),
)


def render(book: Book) -> str:
    return "\n".join(_hot(book))


def _hot(book: Book) -> list[str]:
    lines: list[str] = []
    for workload in _names(book, "hot"):
        lines += ["", f"### hot drain, {workload}", ""]
        lines += _table(book, "hot", workload)
    return lines


def _table(book: Book, part: str, workload: str) -> list[str]:
    head = ["", *(title for title, _, _ in _DRAIN), "of tuned Debezium", "all rounds, events/s"]
    lines = [_row(head), _row(["---"] * len(head))]
    peer_names = dict.fromkeys(entry.peer for entry in book.entries if (entry.part, entry.workload) == (part, workload))
    for peer in peer_names:
        medians = [book.median(part, workload, peer, value) or 0.0 for _, value, _ in _DRAIN]
        cells = [format(median, spec) if median else "" for median, (_, _, spec) in zip(medians, _DRAIN, strict=True)]
        base = book.median(part, workload, "debezium-tuned", "events_per_s")
        ratio = f"{medians[0] / base:.2f}" if base else ""
        rounds = ", ".join(f"{entry.values['events_per_s']:,.0f}" for entry in book.of(part, workload, peer))
        lines.append(_row([peer, *cells, ratio, rounds]))
    return lines


def _names(book: Book, part: str) -> list[str]:
    return list(dict.fromkeys(entry.workload for entry in book.entries if entry.part == part))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
def main(files: tuple[Path, ...]) -> None:
    print(render(load(files)))


if __name__ == "__main__":
    main()
