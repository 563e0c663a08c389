"""`python -m tests.bench.sinks`: one backlog drained into each sink, in one run. `none` is the relay's own ceiling.

Watched through the relay's own metrics, because `none` leaves nothing else to watch. Read the ratios.
"""

from __future__ import annotations

import http.client
import statistics
import time
from typing import Any

import click
import psutil  # type: ignore[import-untyped]  # carries no types

from tests.bench.drains import STALL_SECONDS, Drain, produce_from_memory
from tests.bench.ground import PUBLICATION, Ground, ground
from tests.fixtures.relay_process import RelayProcess, relay_config

SINKS = ("kafka", "log", "none")


@click.command()
@click.option("--rows", default=300_000, show_default=True)
@click.option("--per-transaction", default=10, show_default=True)
@click.option("--rounds", default=3, show_default=True)
def main(rows: int, per_transaction: int, rounds: int) -> None:
    with ground() as place:
        slots = [(sink, f"{sink}_{number}") for number in range(rounds) for sink in SINKS]
        for _, slot in slots:
            place.make_slot(slot)
        place.fill(rows, per_transaction=per_transaction)
        produce_from_memory(place, 100_000)  # a fresh broker costs several times the CPU per event
        drains: dict[str, list[Drain]] = {sink: [] for sink in SINKS}
        for sink, slot in slots:
            drains[sink].append(_drain(place, sink, slot, rows))
            place.drop_slot(slot)
    _print(drains, rows, per_transaction)


def _drain(place: Ground, sink: str, slot: str, row_count: int) -> Drain:
    kafka = {"kafka": {"bootstrap.servers": place.kafka.bootstrap}}
    config = relay_config(place.postgres.dsn(), slot, PUBLICATION, "public.outbox", "")
    relay = RelayProcess(config | {"sink": kafka if sink == "kafka" else sink}, place.directory / slot).start()
    started, first, seen = time.monotonic(), 0.0, 0
    while seen < row_count:
        time.sleep(0.02)
        seen, now = _published_count(relay), time.monotonic()
        if seen and not first:
            first, first_seen = now, seen
        if now - started > STALL_SECONDS:
            raise SystemExit(f"{seen} of {row_count} in {STALL_SECONDS} s:\n{relay.stderr}")
    cpu: Any = psutil.Process(relay.pid).cpu_times()
    if relay.stop() != 0:
        raise SystemExit(f"the relay ended with {relay.returncode}:\n{relay.stderr}")
    return Drain((row_count - first_seen) / max(now - first, 0.02), (cpu.user + cpu.system) / row_count * 1e6)


def _published_count(relay: RelayProcess) -> int:
    try:
        return int(relay.metric("outbox_published_total"))
    except (OSError, http.client.HTTPException):
        return 0


def _print(drains: dict[str, list[Drain]], rows: int, per_transaction: int) -> None:
    rounds = len(drains["none"])
    print(f"\ndrain of {rows:,} rows, {per_transaction} per transaction, medians of {rounds} rounds")
    print(f"{'sink':10}{'events/s':>10}{'CPU us/event':>15}   all rounds, events/s")
    for sink, each in drains.items():
        rate = statistics.median(drain.per_second for drain in each)
        cpu = statistics.median(drain.cpu_us_per_event for drain in each)
        print(f"{sink:10}{rate:>10,.0f}{cpu:>15.1f}   {', '.join(f'{drain.per_second:,.0f}' for drain in each)}")


if __name__ == "__main__":
    main()
