"""What a row costs the loop's thread, from the frame to the settled record: `python -m tests.bench.passage`.

One process and librdkafka's own mock cluster; µs of this thread's CPU per row and stage. librdkafka's threads are not
counted, nor is reading from a socket. A window of records at a time, as while the relay is behind.
"""

from __future__ import annotations

import gc
import statistics
import time
import uuid
from dataclasses import replace
from itertools import pairwise
from struct import pack

from cdc_relay.delivery.intake import Intake
from cdc_relay.delivery.twins import Window
from cdc_relay.model import Policy, Record, Ticket
from cdc_relay.routing.envelopes.cloudevents import CloudEvents
from cdc_relay.routing.envelopes.envelope import Envelope
from cdc_relay.routing.outbox import Outbox, Route
from cdc_relay.routing.router import Router
from cdc_relay.routing.templates import Template
from cdc_relay.sinks.kafka import KafkaSink
from tests.fixtures.kafka_broker import MockKafka
from tests.unit import frames

WINDOW, PER_TRANSACTION, ROUNDS = 20_000, 10, 9
COLUMNS = {
    "id": 2950,
    "aggregatetype": 25,
    "aggregateid": 25,
    "type": 25,
    "payload": 3802,
    "tenant_id": 25,
    "correlation_id": 25,
}
PLAIN = Outbox("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload")
EVENTS = replace(PLAIN, tenant_column="tenant_id", correlation_column="correlation_id")
Costs = tuple[float, float, float]  # taken and handed out, heard of, settled


def routed(envelope: Envelope) -> Outbox:
    route = Route(Template.parse("outbox.event.{aggregatetype}"), Policy("events"), envelope=envelope)
    return replace(EVENTS, routes=(route,))


OUTBOXES = {
    "default route": PLAIN,
    "binary CloudEvents": routed(CloudEvents()),
    "structured CloudEvents": routed(CloudEvents("structured")),
}


def make_frames() -> list[bytes]:
    made: list[bytes] = []
    for number in range(WINDOW):
        if number % PER_TRANSACTION == 0:
            made.append(frames.begin(number * 100 + 1, time_us=1_767_323_045_123_456 + number))
        note = f'{{"n": {number}, "at": 1, "note": "{number:0230d}"}}'
        made.append(
            frames.insert(
                str(uuid.uuid4()).encode(),
                b"order",
                b"k%d" % (number % 1_000),
                b"Paid",
                note.encode(),
                b"tenant-%d" % (number % 50),
                b"c-%d" % number,
            )
        )
        if number % PER_TRANSACTION == PER_TRANSACTION - 1:
            made.append(frames.commit(number * 100 + 50, time_us=1_767_323_045_123_456))
    return made


def describe() -> bytes:
    columns = b"".join(b"\0" + name.encode() + b"\0" + pack(">Ii", oid, -1) for name, oid in COLUMNS.items())
    return frames.xlog(b"R" + pack(">I", 1) + b"public\0outbox\0d" + pack(">H", len(COLUMNS)) + columns)


class Passage:
    def __init__(self, outbox: Outbox, sink: KafkaSink) -> None:
        self._outbox = outbox
        self._sink = sink

    def measure(self, given: list[bytes]) -> Costs:
        intake = Intake(Router([self._outbox]), Window(record_limit=2 * WINDOW, byte_limit=1 << 30))
        intake.take(frames.begin(1))
        intake.take(describe())
        intake.take(frames.commit(1))
        clock = [time.thread_time()]
        self._publish(intake, given)
        clock.append(time.thread_time())
        delivered = self._hear()
        clock.append(time.thread_time())
        intake.settle_all(delivered)
        del delivered
        clock.append(time.thread_time())
        out, back, settled = ((after - before) / WINDOW * 1e6 for before, after in pairwise(clock))
        return out, back, settled

    def _publish(self, intake: Intake, given: list[bytes]) -> None:
        take, publish = intake.take, self._sink.publish
        for frame in given:
            outcome = take(frame)
            if outcome is None:
                continue
            record, ticket = outcome
            if type(record) is not Record:
                raise RuntimeError(f"{ticket} became no record")
            publish(record, ticket)

    def _hear(self) -> list[Ticket]:
        heard: list[Ticket] = []
        while len(heard) < WINDOW:
            heard += [each for each in self._sink.poll(0.1).delivered if isinstance(each, Ticket)]
        return heard


def main() -> None:
    kafka, given = MockKafka(), make_frames()
    gc.freeze()  # as wiring does
    gc.set_threshold(100_000)
    passages = {
        name: Passage(outbox, KafkaSink({"bootstrap.servers": kafka.bootstrap})) for name, outbox in OUTBOXES.items()
    }
    costs: dict[str, list[Costs]] = {name: [] for name in passages}
    for _ in range(ROUNDS):  # in turn: the machine changes while we look
        for name, passage in passages.items():
            costs[name].append(passage.measure(given))
    print(f"us per row, medians of {ROUNDS} rounds of {WINDOW:,}: out + back + settled")
    for name, rounds in costs.items():
        medians = [statistics.median(each) for each in zip(*rounds, strict=True)]
        print(f"{name:23} {' + '.join(f'{each:.2f}' for each in medians)} = {sum(medians):.2f}")


if __name__ == "__main__":
    main()
