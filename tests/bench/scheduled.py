"""`python -m tests.bench.scheduled`: how late scheduled events are, with the relay running and caught up.

Late is what a consumer sees: from the time that the event asked for to its arrival, both by this machine's clock.
"""

from __future__ import annotations

import json
import statistics
import time

import click
from confluent_kafka import Consumer, TopicPartition

from tests.bench.ground import PUBLICATION, TOPIC, Ground, ground
from tests.fixtures.outbox import create_lot
from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import RelayProcess, relay_config

SLOT = "scheduled"
OUTBOXES = [{"table": "public.outbox", "columns": {"scheduled_at": "scheduled_at"}}]
_INSERT = (
    "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload, scheduled_at)"
    " VALUES (gen_random_uuid(), 'bench', 'k', 'Reminder', %s, to_timestamp(%s))"
)


@click.command()
@click.option("--events", default=50, show_default=True)
@click.option("--apart", default=0.2, show_default=True, help="Seconds between two of them.")
def main(events: int, apart: float) -> None:
    with ground() as place:
        consumer = place.consumer()
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        relay = _start(place)
        first = _schedule(place, events, apart)
        late = sorted(_lateness_ms(consumer, events, deadline=first + events * apart + 30))
        consumer.close()
        relay.stop()
    if len(late) < events:
        raise SystemExit(f"only {len(late)} of {events} events arrived:\n{relay.stderr}")
    print(f"{events} scheduled events, {apart:g} s apart, relay caught up")
    print(f"late: p50 {statistics.median(late):.1f} ms, max {late[-1]:.1f} ms, min {late[0]:.1f} ms")


def _start(place: Ground) -> RelayProcess:
    with place.postgres.connect() as conn:
        create_lot(conn)
        conn.execute("ALTER TABLE outbox ADD scheduled_at timestamptz")
    place.make_slot(SLOT)
    config = relay_config(
        place.postgres.dsn(), SLOT, PUBLICATION, "public.outbox", place.kafka.bootstrap, outboxes=OUTBOXES
    )
    return RelayProcess(config, place.directory / SLOT).start().wait_ready()


def _schedule(place: Ground, events: int, apart: float) -> float:
    """All are in the lot before the first is due."""
    first = time.time() + 5
    with place.postgres.connect() as conn:
        for number in range(events):
            due = first + number * apart
            conn.execute(_INSERT, [json.dumps({"due": due}), due])
        count = "SELECT count(*) FROM cdc_relay.parked_records"
        wait_until(lambda: conn.execute(count).fetchall() == [(events,)], timeout=30, what="all are parked")
    return first


def _lateness_ms(consumer: Consumer, events: int, *, deadline: float) -> list[float]:
    late: list[float] = []
    while len(late) < events and time.time() < deadline:
        for message in consumer.consume(events, timeout=0.001):
            value = message.value()
            if value is not None and message.error() is None:
                late.append((time.time() - json.loads(value)["due"]) * 1000)
    return late


if __name__ == "__main__":
    main()
