"""`python -m tests.bench.sinks`: one backlog drained into each sink, in one run. `none` is the relay's own ceiling.

Watched through the relay's own metrics, because `none` leaves nothing else to watch. Read the ratios.
"""

from __future__ import annotations

import http.client
import statistics
import time
from typing import Any, NamedTuple

import click
import psutil  # type: ignore[import-untyped]  # carries no types

from tests.bench.arrival import STALL_SECONDS
from tests.bench.peers.one_shot import warm_broker
from tests.bench.servers import servers
from tests.bench.stage import PUBLICATION, Stage
from tests.bench.workloads import DEFAULT
from tests.fixtures.relay_process import RelayProcess, relay_config

SINKS = ("kafka", "log", "none")
BROKER_WARM_EVENTS = 100_000


class Drain(NamedTuple):
    per_second: float
    cpu_us_per_event: float


@click.command()
@click.option("--rows", default=300_000, show_default=True)
@click.option("--per-transaction", default=10, show_default=True)
@click.option("--rounds", default=3, show_default=True)
def main(rows: int, per_transaction: int, rounds: int) -> None:
    with servers() as place:
        stage = Stage(place, DEFAULT)
        stage.make_topics("outbox.event")
        slots = [(sink, f"{sink}_{number}") for number in range(rounds) for sink in SINKS]
        for _, slot in slots:
            stage.make_slot(slot)
        stage.fill(rows, per_transaction=per_transaction)
        warm_broker(stage, BROKER_WARM_EVENTS)
        drains: dict[str, list[Drain]] = {sink: [] for sink in SINKS}
        for sink, slot in slots:
            drains[sink].append(_drain(stage, sink, slot, rows))
            stage.drop_slot(slot)
    _print(drains, rows, per_transaction)


def _drain(stage: Stage, sink: str, slot: str, row_count: int) -> Drain:
    kafka = {"kafka": {"bootstrap.servers": stage.servers.bootstrap}}
    config = relay_config(stage.dsn(), slot, PUBLICATION, "public.outbox", "")
    directory = stage.servers.directory / slot
    relay = RelayProcess(config | {"sink": kafka if sink == "kafka" else sink}, directory).start()
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
