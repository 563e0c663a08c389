"""`python -m tests.bench.bad_rows`: what a hundred unpublishable events among ten thousand cost, in one run.

The relay drains two backlogs of the same size, one with bad rows and one without, several times in turn. Read the
ratio of the medians: events per second until every event is settled, on its topic or in the lot.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click
from confluent_kafka import Consumer

from tests.bench.ground import Ground, ground
from tests.fixtures.bad_rows import (
    EVERY,
    GOOD_TOPICS,
    PUBLICATION,
    config_sections,
    create_tables,
    create_topics,
    fill,
)
from tests.fixtures.consume import consumer, end_offsets
from tests.fixtures.database import Database
from tests.fixtures.relay_process import RelayProcess, relay_config

STALL_SECONDS = 120
WARM_ROWS = 50_000


@dataclass
class Backlog:
    """A database whose slots all begin before its rows."""

    place: Ground
    row_count: int
    with_bad: bool

    def __post_init__(self) -> None:
        self.name = "with bad rows" if self.with_bad else "without"
        self.database = Database(self.place.postgres)
        with self.database.connect() as conn:
            create_tables(conn)

    @property
    def bad_count(self) -> int:
        return self.row_count // EVERY if self.with_bad else 0

    def make_slot(self, number: int) -> None:
        self.database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [self.slot(number)])

    def slot(self, number: int) -> str:
        return f"{self.database.name}_{number}"

    def fill(self, *, per_transaction: int) -> None:
        with self.database.connect() as conn:
            conn.execute("SET synchronous_commit = off")
            fill(conn, self.row_count, per_transaction=per_transaction, with_bad=self.with_bad)
            conn.execute("CHECKPOINT")

    def parked_count(self, slot: str) -> int:
        query = "SELECT count(*) FROM cdc_relay.parked_records WHERE slot = %s"
        [(count,)] = self.database.execute(query, [slot])
        return int(count)

    def drain(self, number: int, directory: Path) -> float:
        """Events settled per second, from the first one that is seen."""
        slot = self.slot(number)
        create_topics(self.place.kafka, slot)
        bootstrap, reader = self.place.kafka.bootstrap, consumer(self.place.kafka.bootstrap)
        config = relay_config(
            self.database.dsn(), slot, PUBLICATION, "public.outbox", bootstrap, **config_sections(slot)
        )
        relay = RelayProcess(config, directory / slot).start()
        try:
            return self._watch(relay, reader, slot)
        finally:
            relay.kill()
            reader.close()
            self.database.execute("SELECT pg_drop_replication_slot(%s)", [slot])

    def _watch(self, relay: RelayProcess, reader: Consumer, slot: str) -> float:
        good_count = self.row_count - self.bad_count
        topics = [f"{slot}.{name}" for name in GOOD_TOPICS]

        def settled() -> int:
            good = sum(end_offsets(reader, topics).values())
            return good if good < good_count else good + self.parked_count(slot)

        first = _wait(lambda: settled() > 0, relay)
        seen = settled()
        last = _wait(lambda: settled() >= self.row_count, relay)
        return (self.row_count - seen) / max(last - first, 0.02)


def _wait(condition: Callable[[], bool], relay: RelayProcess) -> float:
    """When the condition was first seen to hold."""
    deadline = time.monotonic() + STALL_SECONDS
    while not condition():
        if time.monotonic() > deadline or not relay.is_running:
            raise SystemExit(f"the relay did not get on:\n{relay.stderr}")
        time.sleep(0.01)
    return time.monotonic()


@click.command()
@click.option("--rows", default=10_000, show_default=True)
@click.option("--per-transaction", default=10, show_default=True)
@click.option("--rounds", default=15, show_default=True)
def main(rows: int, per_transaction: int, rounds: int) -> None:
    with ground() as place:
        warm = Backlog(place, WARM_ROWS, with_bad=False)
        backlogs = [Backlog(place, rows, with_bad=False), Backlog(place, rows, with_bad=True)]
        for backlog in (warm, *backlogs):
            for number in range(1 if backlog is warm else rounds):
                backlog.make_slot(number)
            backlog.fill(per_transaction=per_transaction)
        warm.drain(0, place.directory)
        rates: dict[str, list[float]] = {backlog.name: [] for backlog in backlogs}
        for number in range(rounds):
            for backlog in backlogs if number % 2 else reversed(backlogs):
                rates[backlog.name].append(backlog.drain(number, place.directory))
    _print(rates, rows, per_transaction)


def _print(rates: dict[str, list[float]], rows: int, per_transaction: int) -> None:
    print(f"\n{rows:,} events, {per_transaction} per transaction, medians of {len(rates['without'])} rounds, events/s")
    for name, each in rates.items():
        print(f"{name:15}{statistics.median(each):>9,.0f}   {', '.join(f'{rate:,.0f}' for rate in each)}")
    ratio = statistics.median(rates["with bad rows"]) / statistics.median(rates["without"])
    print(f"with bad rows / without: {ratio:.2f}")


if __name__ == "__main__":
    main()
