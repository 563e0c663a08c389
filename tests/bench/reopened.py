"""`python -m tests.bench.reopened`: how fast a topic gets what waited for it in the lot, once it is well again.

The topic is missing while the events are written, and made when all of them are parked.
"""

from __future__ import annotations

import time

import click

from tests.bench.servers import servers
from tests.bench.stage import PUBLICATION, Stage
from tests.bench.watch import Watch
from tests.bench.workloads import DEFAULT
from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import RelayProcess, relay_config

SLOT = "reopened"
PARKED = "SELECT count(*) FROM cdc_relay.parked_records WHERE status = 'retrying'"
OPEN = '"topic_open"'


@click.command()
@click.option("--events", default=20_000, show_default=True)
def main(events: int) -> None:
    with servers() as place:
        stage = Stage(place, DEFAULT)
        stage.make_slot(SLOT)
        config = relay_config(stage.dsn(), SLOT, PUBLICATION, "public.outbox", place.bootstrap)
        relay = RelayProcess(config, place.directory / SLOT).start().wait_ready()
        stage.fill(events)
        wait_until(lambda: stage.database.execute(PARKED) == [(events,)], timeout=300, what="all are parked")
        watch = Watch(place.bootstrap, stage.make_topics("outbox.event"), DEFAULT.partitions)
        wait_until(lambda: watch.count() > 1, timeout=60, what="the trial is over", every=0.01)
        seconds = _await_open(relay, time.monotonic())
        count = watch.count()
        relay.stop()
    if count != events:
        raise SystemExit(f"{events} events, {count} records:\n{relay.stderr[-2000:]}")
    print(f"{events:,} records from the lot in {seconds:.1f} s: {events / seconds:,.0f}/s")


def _await_open(relay: RelayProcess, started: float) -> float:
    wait_until(lambda: OPEN in relay.stderr, timeout=300, what="the topic is open", every=0.02)
    return time.monotonic() - started


if __name__ == "__main__":
    main()
