"""`python -m tests.bench.takeover`: how long until a standby reads the slot of a relay that was killed.

From kill -9 until the standby streams, and until an event that was committed at that moment is on the topic.
"""

from __future__ import annotations

import json
import statistics
import time

import click

from tests.bench.servers import servers
from tests.bench.stage import PUBLICATION, Stage
from tests.bench.watch import Watch
from tests.bench.workloads import DEFAULT
from tests.fixtures.outbox import insert_event
from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import RelayProcess, relay_config

SLOT = "takeover"


@click.command()
@click.option("--rounds", default=10, show_default=True)
def main(rounds: int) -> None:
    with servers() as place:
        stage = Stage(place, DEFAULT)
        stage.make_slot(SLOT)
        watch = Watch(place.bootstrap, stage.make_topics("outbox.event"), DEFAULT.partitions)
        reader, seconds = _start(stage, 0), []
        _wait_for(reader, "streaming")
        for number in range(1, rounds + 1):
            standby = _start(stage, number)
            _wait_for(standby, "standby")
            seconds.append(_take_over(stage, watch, reader, standby))
            reader = standby
        reader.stop()
    for what, values in zip(("streaming", "event on the topic"), zip(*seconds, strict=True), strict=True):
        print(f"kill -9 to {what}: p50 {statistics.median(values):.2f} s, max {max(values):.2f} s, {rounds} rounds")


def _start(stage: Stage, number: int) -> RelayProcess:
    config = relay_config(stage.dsn(), SLOT, PUBLICATION, "public.outbox", stage.servers.bootstrap)
    return RelayProcess(config, stage.servers.directory / f"relay{number}").start()


def _wait_for(relay: RelayProcess, state: str) -> None:
    wait_until(lambda: _state(relay) == state, timeout=60, every=0.01, what=f"the relay is {state}")


def _state(relay: RelayProcess) -> str:
    try:
        return str(json.loads(relay.get("/readyz")[1])["state"])
    except (OSError, ValueError):
        return ""


def _take_over(stage: Stage, watch: Watch, reader: RelayProcess, standby: RelayProcess) -> tuple[float, float]:
    before = watch.count()
    with stage.database.connect() as conn:
        reader.kill()
        killed_at = time.monotonic()
        insert_event(conn, DEFAULT.aggregate_types()[0])
    _wait_for(standby, "streaming")
    streaming = time.monotonic() - killed_at
    wait_until(lambda: watch.count() > before, timeout=60, every=0.01, what="the event arrives")
    return streaming, time.monotonic() - killed_at


if __name__ == "__main__":
    main()
