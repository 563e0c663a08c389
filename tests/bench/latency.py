"""Commit to consumer at a steady rate: a row is stamped just before its commit; a consumer then looks at its clock."""

from __future__ import annotations

import statistics
import threading
import time
from dataclasses import dataclass

import orjson
from confluent_kafka import TopicPartition

from tests.bench.ground import TOPIC, Ground

__all__ = ["Latency", "measure_latency"]

_INSERT = (
    "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)"
    " VALUES (gen_random_uuid(), 'bench', %s, 'Placed', %s::jsonb)"
)


@dataclass(frozen=True)
class Latency:
    p50_ms: float
    p99_ms: float
    count: int
    rate: float


def measure_latency(ground: Ground, slot: str, *, rate: int, seconds: float) -> Latency:
    consumer = ground.consumer()
    offset = ground.end_offset(consumer)
    consumer.assign([TopicPartition(TOPIC, 0, offset)])
    relay = ground.relay(slot).start().wait_ready()
    warm_up = rate * 2
    count = int(rate * seconds) + warm_up
    writer = threading.Thread(target=_write, args=(ground, count, rate), daemon=True)
    started = time.monotonic()
    writer.start()
    samples: list[float] = []
    while len(samples) < count and time.monotonic() - started < seconds * 3 + 30:
        for message in consumer.consume(500, timeout=0.001):
            value = message.value()
            if value is not None and message.error() is None:
                samples.append((time.time_ns() - orjson.loads(value)["at"]) / 1e6)
    elapsed = time.monotonic() - started
    writer.join()
    consumer.close()
    relay.stop()
    if len(samples) < count:
        raise SystemExit(f"only {len(samples)} of {count} events arrived:\n{relay.stderr}")
    measured = sorted(samples[warm_up:])
    p99 = measured[int(len(measured) * 0.99)]
    return Latency(statistics.median(measured), p99, len(measured), count / elapsed)


def _write(ground: Ground, count: int, rate: int) -> None:
    """One row per transaction, on a clock; a late one does not make the next ones early."""
    with ground.postgres.connect() as conn:
        due = time.monotonic()
        for number in range(count):
            due = max(due + 1 / rate, time.monotonic() - 0.1)
            if (pause := due - time.monotonic()) > 0:
                time.sleep(pause)
            conn.execute(_INSERT, [str(number % 1000), f'{{"at": {time.time_ns()}}}'])
