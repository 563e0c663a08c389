"""`make bench`: how fast the relay drains a slot into a real broker, beside the ceilings, in one run.

Machines differ and are noisy: read the ratios. Each round measures all contenders, one after the other.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import click

from tests.bench.drains import Drain, drain_with_pg_recvlogical, drain_with_relay, produce_from_memory
from tests.bench.ground import Ground, ground
from tests.bench.latency import Latency, measure_latency


@click.command()
@click.option("--rows", default=300_000, show_default=True)
@click.option("--per-transaction", default=10, show_default=True)
@click.option("--rounds", default=3, show_default=True)
@click.option("--rate", default=1000, show_default=True, help="Events per second in the latency part.")
@click.option("--seconds", default=15.0, show_default=True, help="Length of the latency part.")
def main(rows: int, per_transaction: int, rounds: int, rate: int, seconds: float) -> None:
    with ground() as place:
        relays, readers, producers = _measure_drains(place, rows, per_transaction, rounds)
        place.make_slot("steady")
        latency = measure_latency(place, "steady", rate=rate, seconds=seconds)
    _print_drains(relays, readers, producers, rows, per_transaction)
    _print_latency(latency)


def _measure_drains(
    place: Ground, rows: int, per_transaction: int, rounds: int
) -> tuple[list[Drain], list[Drain], list[Drain]]:
    for number in range(rounds):
        place.make_slot(f"relay_{number}")
        place.make_slot(f"reader_{number}")
    print(f"filling: {rows:,} rows, {per_transaction} per transaction")
    end_lsn = place.fill(rows, per_transaction=per_transaction)
    print("warming the broker: a fresh one costs several times the CPU per event")
    produce_from_memory(place, max(rows, 100_000))
    relays, readers, producers = [], [], []
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}")
        readers.append(drain_with_pg_recvlogical(place, f"reader_{number}", end_lsn, rows))
        relays.append(drain_with_relay(place, f"relay_{number}", rows))
        producers.append(produce_from_memory(place, rows))
        place.drop_slot(f"reader_{number}")
        place.drop_slot(f"relay_{number}")
    return relays, readers, producers


def _median(drains: Sequence[Drain], field: Callable[[Drain], float]) -> float:
    return statistics.median(field(drain) for drain in drains)


def _print_drains(
    relays: list[Drain], readers: list[Drain], producers: list[Drain], rows: int, per_transaction: int
) -> None:
    speed, cpu = (lambda drain: drain.per_second), (lambda drain: drain.cpu_us_per_event)
    relay, reader, producer = _median(relays, speed), _median(readers, speed), _median(producers, speed)
    print(f"\ndrain of {rows:,} rows, {per_transaction} per transaction, medians of {len(relays)} rounds")
    print(f"{'':34}{'events/s':>10}{'CPU us/event':>15}")
    print(f"{'cdc-relay':34}{relay:>10,.0f}{_median(relays, cpu):>15.1f}")
    print(f"{'pg_recvlogical to /dev/null':34}{reader:>10,.0f}{_median(readers, cpu):>15.1f}")
    print(f"{'producing from memory':34}{producer:>10,.0f}{_median(producers, cpu):>15.1f}")
    print(f"cdc-relay / pg_recvlogical         {relay / reader:.2f}")
    print(f"cdc-relay / producing from memory  {relay / producer:.2f}")
    print(f"process start included             {_median(relays, lambda d: d.whole_per_second):,.0f} events/s")
    print(f"process start to first record      {_median(relays, lambda d: d.first_record_seconds):.2f} s")
    print(f"peak RSS                           {_median(relays, lambda d: d.peak_rss_mb):.0f} MB")
    print(f"all rounds, events/s               {', '.join(f'{drain.per_second:,.0f}' for drain in relays)}")


def _print_latency(latency: Latency) -> None:
    print(f"\ncommit to consumer, {latency.count:,} events at {latency.rate:,.0f}/s, one per transaction")
    print(f"p50 {latency.p50_ms:.1f} ms, p99 {latency.p99_ms:.1f} ms")


if __name__ == "__main__":
    main()
