"""A message that is not transactional ends where the next record of the WAL begins, and that may be a commit or another
message: neither is taken for the other, and none is passed over."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.fixtures.fix_kafka import KafkaBroker, MakeKafka
from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess
from tests.fixtures.messages import EMIT, PREFIX, content, start
from tests.fixtures.numbered import LIMIT_BYTES, NARROW, Numbered, dlq
from tests.fixtures.parked import parked, wait_for_parked
from tests.fixtures.process import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]

NEVER = {"base": "1h", "max": "1h"}
PAD = "x" * (LIMIT_BYTES + 5_000)
KEY_COUNT = 3
EVENT_COUNT, EVENTS_PER_ROUND = 60, 12
NEIGHBOURS = """
SELECT count(*) FROM cdc_relay.parked_records a JOIN cdc_relay.parked_records b ON b.commit_lsn = a.commit_lsn + 1
"""
ON_THE_WAY = {"topic.metadata.propagation.max.ms": 600_000}  # a missing topic is taken for a new one, and waited for

Connection = psycopg.Connection[Any]
Write = Callable[[Connection, Pipeline, str, dict[str, Any]], None]
Interrupt = Callable[[RelayProcess], None]


def write_row(conn: Connection, pipeline: Pipeline, key: str, payload: dict[str, Any]) -> None:
    values = [pipeline.aggregate_type, key, json.dumps(payload)]
    conn.execute("INSERT INTO outbox VALUES (gen_random_uuid(), %s, %s, 'T', %s)", values)


def write_message(
    conn: Connection, pipeline: Pipeline, key: str, payload: dict[str, Any], *, transactional: bool = True
) -> None:
    conn.execute(EMIT, [transactional, PREFIX, content(pipeline, payload["n"], aggregateid=key, payload=payload)])


def commit_pair(events: Numbered, number: int, write: Write) -> None:
    """Something of the transaction, and right before the commit a message that is none of it: that one comes first.
    Those of k0 are too large for the topic."""
    key = f"k{number // 2 % KEY_COUNT}"
    first, second = ({"n": n, "pad": PAD if key == "k0" else ""} for n in (number, number + 1))
    with events.pipeline.database.connect(autocommit=False) as conn:
        write(conn, events.pipeline, key, second)
        write_message(conn, events.pipeline, key, first, transactional=False)
    events.put.setdefault(key, []).extend([number, number + 1])


def stop(relay: RelayProcess) -> None:
    assert relay.stop() == 0


def kill(relay: RelayProcess) -> None:
    relay.kill()


def restart(relay: RelayProcess, pipeline: Pipeline, interrupt: Interrupt) -> bool:
    """Whether something that is parked comes again."""
    interrupt(relay)
    [(newest_lsn,)] = pipeline.database.execute("SELECT max(commit_lsn) - '0/0' FROM cdc_relay.parked_records")
    comes_again = pipeline.confirmed_lsn() <= int(newest_lsn)
    relay.start()
    return comes_again


@pytest.mark.parametrize("write", [write_row, write_message])
@pytest.mark.parametrize("interrupt", [stop, kill])
@pytest.mark.parametrize("ordering", ["relaxed", "strict"])
def test_a_message_right_before_a_commit_and_what_is_committed_are_parked_once_each(
    make_pipeline: MakePipeline, kafka: KafkaBroker, ordering: str, interrupt: Interrupt, write: Write
) -> None:
    events = Numbered(make_pipeline(topic_config=NARROW), kafka)
    pipeline, database = events.pipeline, events.pipeline.database
    relay = start(pipeline, {"table": "public.outbox"}, delivery={"ordering": ordering, "retry": NEVER})
    came_again = False
    for first in range(0, EVENT_COUNT, EVENTS_PER_ROUND):
        for number in range(first, first + EVENTS_PER_ROUND, 2):
            commit_pair(events, number, write)
        wait_for_parked(database, len(events.put["k0"]))
        came_again |= restart(relay, pipeline, interrupt)
    bad = set(events.put["k0"])
    events.wait_until_delivered(without=bad)
    places = parked(database, "commit_lsn, ordinal")
    assert len(places) == len(set(places)) == len(bad)
    assert database.execute(NEIGHBOURS)[0][0] > 0, "no message ended where its commit begins, so nothing was shown"
    assert came_again == (interrupt is kill)

    kafka.configure_topic(events.topic, max_message_bytes="200000")
    dlq(relay, "retry", "--all", "--yes")
    events.wait_until_delivered()
    events.wait_for_lot(published=len(bad))
    if ordering == "strict":
        events.assert_in_order()


# --- what begins right behind the confirmed position


def message_and_message(conn: Connection, bad: str, good: str) -> None:
    conn.execute(EMIT, [False, PREFIX, bad])
    conn.execute(EMIT, [False, PREFIX, good])


def message_and_commit(conn: Connection, bad: str, good: str) -> None:
    with conn.transaction():
        conn.execute(EMIT, [True, PREFIX, good])
        conn.execute(EMIT, [False, PREFIX, bad])


def commit_and_message(conn: Connection, bad: str, good: str) -> None:
    conn.execute(EMIT, [True, PREFIX, bad])
    conn.execute(EMIT, [False, PREFIX, good])


@pytest.mark.parametrize("write", [message_and_message, message_and_commit, commit_and_message])
def test_what_begins_where_the_confirmed_position_is_comes_again(
    make_kafka: MakeKafka, make_pipeline: MakePipeline, write: Callable[[Connection, str, str], None]
) -> None:
    """The first is parked and confirmed; the second, right behind it, waits for its topic when the relay is killed."""
    pipeline = make_pipeline(kafka=make_kafka(**{"auto.create.topics.enable": "false"}))
    late = f"{pipeline.aggregate_type}-late"
    relay = start(pipeline, sink={"kafka": ON_THE_WAY}, delivery={"partial_outage_after": "1h"})
    with pipeline.database.connect() as conn:
        write(conn, "no object", content(pipeline, 1, aggregatetype=late))
    wait_for_parked(pipeline.database, 1)
    [(parked_lsn,)] = parked(pipeline.database, "commit_lsn - '0/0'")
    wait_until(lambda: pipeline.confirmed_lsn() > parked_lsn, timeout=60, what="the parked one is confirmed")
    relay.kill()
    pipeline.kafka.create_topic(f"outbox.event.{late}")
    relay.start()
    events = Numbered(pipeline, pipeline.kafka, late)
    events.put = {"k": [1]}
    events.wait_until_delivered()
    assert len(parked(pipeline.database)) == 1
