"""`make bench` and `make bench-peers`: how fast the relay is, beside the ceilings, or beside everything, in one run.

Machines differ and are noisy: read the ratios. All peers of a round drain the same backlog, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from tests.bench.facts import machine_facts, require_compiled
from tests.bench.measurement import Book
from tests.bench.part_cold import run_cold, run_start
from tests.bench.part_hot import run_hot
from tests.bench.part_latency import HALF, run_idle, run_latency
from tests.bench.part_ratios import run_bad_rows, run_strict, run_tenants
from tests.bench.peers.catalog import CEILINGS, PEERS
from tests.bench.report import render
from tests.bench.run import Run
from tests.bench.workloads import WORKLOADS, find_workload

PARTS: dict[str, Callable[[Run], None]] = {
    "hot": run_hot,
    "cold": run_cold,
    "start": run_start,
    "latency": run_latency,
    "idle": run_idle,
    "tenants": run_tenants,
    "strict": run_strict,
    "bad-rows": run_bad_rows,
}
WORKLOAD_NAMES = tuple(workload.name for workload in WORKLOADS)
RATES = ("1000", "5000", HALF)


class Names(click.ParamType[list[str]]):
    """Several, with commas between; `all` of them."""

    name = "names"

    def __init__(self, known: Sequence[str]) -> None:
        self._known = known

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        if isinstance(value, list):
            return value
        names = list(self._known) if value == "all" else str(value).split(",")
        if unknown := [name for name in names if name not in self._known]:
            self.fail(f"unknown: {', '.join(unknown)}; known are {', '.join(self._known)}", param, ctx)
        return names


# The defaults are the quick look of `make bench`, which takes less than two minutes.
@click.command()
@click.option("--only", type=Names(tuple(PARTS)), default="hot,latency", show_default=True, help="Parts of the run.")
@click.option("--workload", "workloads", type=Names(WORKLOAD_NAMES), default="default", show_default=True)
@click.option("--peers", type=Names(PEERS), default=",".join(("relay", *CEILINGS)), show_default=True)
@click.option("--rates", type=Names(RATES), default="1000", show_default=True, help="Events/s of the part latency.")
@click.option("--rounds", default=3, show_default=True)
@click.option("--rows", type=int, default=200_000, show_default=True, help="Per backlog, at most; 0: no limit.")
@click.option("--seconds", default=5.0, show_default=True, help="Of a round of the part latency.")
@click.option("--warm-events", default=1_200_000, show_default=True, help="For a JVM, before its first workload.")
@click.option("--pure", is_flag=True, help="The relay without its compiled part.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="JSON with all rounds.")
def main(
    only: list[str],
    workloads: list[str],
    peers: list[str],
    rates: list[str],
    rounds: int,
    rows: int,
    seconds: float,
    warm_events: int,
    pure: bool,
    out: Path | None,
) -> None:
    asked = {"rounds": rounds, "rows": rows, "seconds": seconds, "warm_events": warm_events}
    require_compiled(pure=pure)
    facts = machine_facts(with_debezium=any(name.startswith("debezium") for name in peers))
    book = Book(out, facts | {"options": asked})
    run = Run(book, peers, [find_workload(name) for name in workloads], rounds=rounds, rates=rates, rows=rows or None)
    run.seconds, run.warm_events = seconds, warm_events
    for part in only:
        PARTS[part](run)
    print(f"\n{render(book)}")


if __name__ == "__main__":
    main()
