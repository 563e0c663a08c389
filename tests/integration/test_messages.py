"""A table-less outbox: logical messages of a prefix, transactional and not, with all that holds for rows."""

from __future__ import annotations

import json

import pytest

from tests.fixtures.fix_relay import MakeRelay, Pipeline
from tests.fixtures.messages import content, emit, numbers, start
from tests.fixtures.process import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.core]

PARKED = "SELECT outbox, error_code, status, columns FROM cdc_relay.parked_records ORDER BY commit_lsn, ordinal"


def test_messages_and_rows_of_one_transaction_arrive_in_its_order(pipeline: Pipeline) -> None:
    start(pipeline, {"table": "public.outbox"})
    with pipeline.database.connect(autocommit=False) as conn:
        for number in range(6):
            if number % 2:
                insert = "INSERT INTO outbox VALUES (gen_random_uuid(), %s, 'k', 'T', %s)"
                conn.execute(insert, [pipeline.aggregate_type, json.dumps({"n": number})])
            else:
                conn.execute("SELECT pg_logical_emit_message(true, 'outbox', %s)", [content(pipeline, number)])
    assert numbers(pipeline, 6) == list(range(6))


def test_a_message_of_a_transaction_that_rolls_back_never_arrives_and_one_outside_does(pipeline: Pipeline) -> None:
    start(pipeline)
    with pipeline.database.connect(autocommit=False) as conn:
        conn.execute("SELECT pg_logical_emit_message(true, 'outbox', %s)", [content(pipeline, 1)])
        conn.execute("SELECT pg_logical_emit_message(false, 'outbox', %s)", [content(pipeline, 2)])
        conn.rollback()
    emit(pipeline, content(pipeline, 3))
    assert numbers(pipeline, 2) == [2, 3]


@pytest.mark.parametrize("transactional", [True, False])
def test_the_slot_follows_and_a_restart_repeats_nothing(pipeline: Pipeline, transactional: bool) -> None:
    relay = start(pipeline)
    for number in range(20):
        emit(pipeline, content(pipeline, number), transactional=transactional)
    assert numbers(pipeline, 20) == list(range(20))
    assert relay.stop() == 0
    relay.start().wait_ready()
    emit(pipeline, content(pipeline, 20), transactional=transactional)
    assert numbers(pipeline, 21) == list(range(21))


@pytest.mark.parametrize("transactional", [True, False])
def test_a_killed_relay_loses_no_message(pipeline: Pipeline, transactional: bool) -> None:
    relay = start(pipeline)
    for number in range(200):
        emit(pipeline, content(pipeline, number), transactional=transactional)
        if number % 50 == 25:
            relay.kill()
            relay.start()

    def is_there() -> bool:
        return {json.loads(record.value() or b"")["n"] for record in pipeline.records()} == set(range(200))

    wait_until(is_there, timeout=60, what="all have arrived")


def test_a_message_that_cannot_be_routed_is_parked_whole_and_the_others_flow(pipeline: Pipeline) -> None:
    relay = start(pipeline)
    emit(pipeline, content(pipeline, 1), "no object", content(pipeline, 2, aggregatetype=None), content(pipeline, 3))
    emit(pipeline, "[]", transactional=False)
    assert numbers(pipeline, 2) == [1, 3]
    wait_until(lambda: len(pipeline.database.execute(PARKED)) == 3, timeout=60, what="three are parked")
    parked = pipeline.database.execute(PARKED)
    assert [row[:3] for row in parked] == [
        ("message prefix outbox", "bad_message", "dead"),
        ("message prefix outbox", "null_in_topic", "dead"),
        ("message prefix outbox", "bad_message", "dead"),
    ]
    relay.kill()
    relay.start().wait_ready()
    emit(pipeline, content(pipeline, 4))
    pipeline.wait_for_records(3)
    assert pipeline.database.execute(PARKED) == parked


def test_other_prefixes_and_bytes_that_are_no_text_do_no_harm(pipeline: Pipeline) -> None:
    start(pipeline)
    emit(pipeline, content(pipeline, 9), prefix="else")
    pipeline.database.execute(r"SELECT pg_logical_emit_message(true, 'outbox', '\xff00fe'::bytea)")
    emit(pipeline, content(pipeline, 1))
    assert numbers(pipeline, 1) == [1]
    wait_until(lambda: len(pipeline.database.execute(PARKED)) == 1, timeout=60, what="the bytes are parked")


def test_setup_prepares_for_messages_alone(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    pipeline.database.execute(f"DROP PUBLICATION {pipeline.publication}")
    pipeline.database.execute("SELECT pg_drop_replication_slot(%s)", [pipeline.slot])
    config = pipeline.config(outboxes=[{"message_prefix": "outbox"}])
    assert make_relay(config).wait() == 3
    assert make_relay(pipeline.as_owner(config), command="setup").wait() == 0
    assert make_relay(pipeline.as_owner(config), command="setup").wait() == 0
    make_relay(config).wait_ready()
    emit(pipeline, content(pipeline, 1))
    assert numbers(pipeline, 1) == [1]
