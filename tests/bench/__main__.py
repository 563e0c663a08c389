"""`make bench` and `make bench-peers`: how fast the relay is, beside its peers and the ceilings, in one run.

Machines differ and are noisy: read the ratios. All peers of a round drain the same backlog, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from tests.bench.measurement import Book, machine_facts
from tests.bench.part_cold import run_cold
from tests.bench.part_hot import run_hot
from tests.bench.part_latency import run_idle, run_latency
from tests.bench.part_ratios import run_bad_rows, run_strict, run_tenants
from tests.bench.peers.catalog import CEILINGS, PEERS
from tests.bench.report import render
from tests.bench.run import Run
from tests.bench.workloads import WORKLOADS, find_workload

PARTS: dict[str, Callable[[Run], None]] = {
    "hot": run_hot,
    "cold": run_cold,
    "latency": run_latency,
    "idle": run_idle,
    "tenants": run_tenants,
    "strict": run_strict,
    "bad-rows": run_bad_rows,
}
QUICK = "hot,latency"


@click.command()
@click.option("--only", default="hot", show_default=True, help=f"Parts, of {', '.join(PARTS)}.")
@click.option("--workload", "workloads", default="default", show_default=True, help="Names, or all.")
@click.option("--peers", default=",".join(("relay", *CEILINGS)), show_default=True, help=f"Of {', '.join(PEERS)}.")
@click.option("--rounds", default=3, show_default=True)
@click.option("--warm-events", default=1_200_000, show_default=True, help="Before the first workload.")
@click.option(
    "--rates", default="1000", show_default=True, help="Of the part latency, in events/s; `half` of the maximum."
)
@click.option("--seconds", default=8.0, show_default=True, help="Of a round of the part latency.")
@click.option("--rows", type=int, help="At most, per backlog: for a quick look.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="JSON with all rounds.")
def main(
    only: str,
    workloads: str,
    peers: str,
    rounds: int,
    warm_events: int,
    rates: str,
    seconds: float,
    rows: int | None,
    out: Path | None,
) -> None:
    names = [load.name for load in WORKLOADS] if workloads == "all" else workloads.split(",")
    chosen = [find_workload(name) for name in names]
    book = Book(out, machine_facts())
    run = Run(
        book, peers.split(","), chosen, rounds=rounds, warm_events=warm_events, rates=rates.split(","), seconds=seconds
    )
    for part in only.split(","):
        PARTS[part](run)
    print(render(book))


if __name__ == "__main__":
    main()
