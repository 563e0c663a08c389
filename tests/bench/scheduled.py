"""`python -m tests.bench.scheduled`: how late scheduled events are, with the relay running and caught up.

Late is what a consumer sees: from the time that the event asked for to its arrival, both by this machine's clock.
"""

from __future__ import annotations

import json
import statistics
import time

import click
from confluent_kafka import Consumer, TopicPartition

from tests.bench.servers import servers
from tests.bench.stage import PUBLICATION, Stage
from tests.bench.workloads import DEFAULT
from tests.fixtures.consume import consumer
from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import RelayProcess, relay_config

SLOT = "scheduled"
OUTBOXES = [{"table": "public.outbox", "columns": {"scheduled_at": "scheduled_at"}}]
_INSERT = (
    "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload, scheduled_at)"
    " VALUES (gen_random_uuid(), %s, 'k', 'Reminder', %s, to_timestamp(%s))"
)


@click.command()
@click.option("--events", default=50, show_default=True)
@click.option("--apart", default=0.2, show_default=True, help="Seconds between two of them.")
def main(events: int, apart: float) -> None:
    with servers() as place:
        stage = Stage(place, DEFAULT)
        [topic] = stage.make_topics("outbox.event")
        reader = consumer(place.bootstrap)
        reader.assign([TopicPartition(topic, 0, 0)])
        relay = _start(stage)
        first = _schedule(stage, events, apart)
        late = sorted(_lateness_ms(reader, events, deadline=first + events * apart + 30))
        reader.close()
        relay.stop()
    if len(late) < events:
        raise SystemExit(f"only {len(late)} of {events} events arrived:\n{relay.stderr}")
    print(f"{events} scheduled events, {apart:g} s apart, relay caught up")
    print(f"late: p50 {statistics.median(late):.1f} ms, max {late[-1]:.1f} ms, min {late[0]:.1f} ms")


def _start(stage: Stage) -> RelayProcess:
    stage.database.execute("ALTER TABLE outbox ADD scheduled_at timestamptz")
    stage.make_slot(SLOT)
    bootstrap = stage.servers.bootstrap
    config = relay_config(stage.dsn(), SLOT, PUBLICATION, "public.outbox", bootstrap, outboxes=OUTBOXES)
    return RelayProcess(config, stage.servers.directory / SLOT).start().wait_ready()


def _schedule(stage: Stage, events: int, apart: float) -> float:
    """All are in the lot before the first is due."""
    first = time.time() + 5
    with stage.database.connect() as conn:
        for number in range(events):
            due = first + number * apart
            conn.execute(_INSERT, [DEFAULT.aggregate_types()[0], json.dumps({"due": due}), due])
        count = "SELECT count(*) FROM cdc_relay.parked_records"
        wait_until(lambda: conn.execute(count).fetchall() == [(events,)], timeout=30, what="all are parked")
    return first


def _lateness_ms(reader: Consumer, events: int, *, deadline: float) -> list[float]:
    late: list[float] = []
    while len(late) < events and time.time() < deadline:
        for message in reader.consume(events, timeout=0.001):
            value = message.value()
            if value is not None and message.error() is None:
                late.append((time.time() - json.loads(value)["due"]) * 1000)
    return late


if __name__ == "__main__":
    main()
