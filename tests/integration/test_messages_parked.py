"""Messages that have no way to a topic, or that the topic refuses: parked, repaired, and published from the lot."""

from __future__ import annotations

import base64
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from confluent_kafka import Message

from tests.fixtures.consume import wait_for_records
from tests.fixtures.fix_kafka import KafkaBroker, MakeKafka
from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess
from tests.fixtures.messages import PREFIX, content, emit, numbers, of_both_kinds, start
from tests.fixtures.numbered import dlq
from tests.fixtures.parked import parked, run_dlq, wait_for_status
from tests.fixtures.process import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]

SMALL = {"max.message.bytes": "1000"}
QUICK = {"base": "500ms", "max": "1s", "jitter": 0, "max_retries": 1000}
PAD = "x" * 5000
TEXT_OID = 25


def routed(**route: Any) -> list[dict[str, Any]]:
    return [{"message_prefix": PREFIX, "routes": [route]}]


def kept(said: str | bytes) -> list[dict[str, Any]]:
    shown = {"value": said} if isinstance(said, str) else {"base64": base64.b64encode(said).decode()}
    return [{"name": "content", "type": TEXT_OID, **shown}]


def the_record_id(pipeline: Pipeline) -> str:
    [(record_id,)] = parked(pipeline.database, "id")
    return str(record_id)


def edit(relay: RelayProcess, record_id: str, pattern: str, new: str) -> None:
    """And retry."""
    document, count = re.subn(pattern, lambda _: new, dlq(relay, "edit", record_id, "--print"), count=1)
    assert count == 1
    dlq(relay, "edit", record_id, "--file", "-", "--retry", stdin=document)


def assert_is_of_today(record: Message) -> None:
    """One of 1970 would be the first that its topic forgets."""
    moment = datetime.fromtimestamp(record.timestamp()[1] / 1000, tz=UTC)
    assert abs(datetime.now(UTC) - moment) < timedelta(days=1)


# --- no way to a topic


@of_both_kinds
def test_a_message_without_a_route_is_routed_again_after_the_routes_were_corrected(
    pipeline: Pipeline, transactional: bool
) -> None:
    first = pipeline.start_relay(outboxes=routed(when={"aggregatetype": "other"}, topic=pipeline.topic))
    said = content(pipeline, 7)
    emit(pipeline, said, transactional=transactional)
    wait_for_status(pipeline.database, ["dead"])
    assert parked(pipeline.database, "error_code, topic, columns, event_id") == [("no_route", None, kept(said), "e7")]
    run_dlq(first, "retry", the_record_id(pipeline))
    wait_until(lambda: parked(pipeline.database, "status, attempts") == [("dead", 1)], timeout=60, what="dead again")
    assert first.stop() == 0

    second = pipeline.start_relay(outboxes=routed(topic="outbox.event.{aggregatetype}", headers={"kind": "{type}"}))
    run_dlq(second, "retry", the_record_id(pipeline))
    wait_for_status(pipeline.database, ["published"])
    [record] = pipeline.records()
    assert (record.key(), record.value()) == (b"k", b'{"n": 7}')
    assert record.headers() == [("id", b"e7"), ("kind", b"T")]
    assert_is_of_today(record)


@of_both_kinds
@pytest.mark.parametrize("bad", ["no object", "[1]", '{"id": ', "null", b"\xff\x00\xfe"])
def test_a_message_that_is_no_object_arrives_after_an_edit(
    pipeline: Pipeline, bad: str | bytes, transactional: bool
) -> None:
    relay = start(pipeline)
    emit(pipeline, bad, transactional=transactional)
    wait_for_status(pipeline.database, ["dead"])
    assert parked(pipeline.database, "error_code, columns") == [("bad_message", kept(bad))]
    edit(relay, the_record_id(pipeline), "  (value|base64): .*", f"  value: {json.dumps(content(pipeline, 1))}")
    assert numbers(pipeline, 1) == [1]
    wait_for_status(pipeline.database, ["published"])


@of_both_kinds
def test_an_edit_may_give_a_message_its_topic_and_then_it_goes_out_as_it_is(
    pipeline: Pipeline, transactional: bool
) -> None:
    relay = start(pipeline)
    emit(pipeline, "no object", transactional=transactional)
    wait_for_status(pipeline.database, ["dead"])
    edit(relay, the_record_id(pipeline), "topic: null", f"topic: {pipeline.topic}")
    [record] = pipeline.wait_for_records(1)
    assert (record.key(), record.value(), record.headers()) == (None, b"no object", None)
    assert_is_of_today(record)


@of_both_kinds
def test_the_dead_letter_topic_gets_a_message_that_is_no_object(pipeline: Pipeline, transactional: bool) -> None:
    letters = f"{pipeline.topic}.dead"
    start(pipeline, parking={"dead_letter_topic": letters})
    emit(pipeline, "no object", transactional=transactional)
    [copy] = wait_for_records(pipeline.kafka.bootstrap, letters, 1)
    assert (copy.value(), dict(copy.headers() or [])["cdc-relay-error-code"]) == (b"no object", b"bad_message")
    assert_is_of_today(copy)


@of_both_kinds
def test_what_an_operator_is_shown_of_a_message_has_no_time_of_1970(pipeline: Pipeline, transactional: bool) -> None:
    """One outside transactions has no commit that could tell the time."""
    relay = start(pipeline)
    emit(pipeline, "no object", transactional=transactional)
    wait_for_status(pipeline.database, ["dead"])
    shown = dlq(relay, "show", the_record_id(pipeline))
    assert ("1970" in shown, "committed " in shown, "outside transactions" in shown) == (
        False,
        transactional,
        not transactional,
    )


@of_both_kinds
def test_a_message_that_is_no_object_lets_the_slot_go_on(pipeline: Pipeline, transactional: bool) -> None:
    start(pipeline)
    emit(pipeline, "no object", content(pipeline, 1), transactional=transactional)
    [(lsn,)] = pipeline.database.execute("SELECT pg_current_wal_insert_lsn() - '0/0'")
    assert numbers(pipeline, 1) == [1]
    wait_until(lambda: pipeline.confirmed_lsn() >= lsn, timeout=60, what="the slot is confirmed behind both")


# --- a broker that refuses


@of_both_kinds
def test_a_message_that_its_topic_refuses_is_published_once_the_topic_takes_it(
    make_pipeline: MakePipeline, kafka: KafkaBroker, transactional: bool
) -> None:
    pipeline = make_pipeline(topic_config=SMALL)
    start(pipeline, delivery={"retry": QUICK})
    big = content(pipeline, 1, payload={"n": 1, "pad": PAD})
    emit(pipeline, big, content(pipeline, 2), transactional=transactional)
    assert numbers(pipeline, 1) == [2]
    wait_for_status(pipeline.database, ["retrying"])
    assert parked(pipeline.database, "error_code, topic, event_id, columns") == [
        ("MSG_SIZE_TOO_LARGE", pipeline.topic, "e1", None)
    ]
    kafka.configure_topic(pipeline.topic, max_message_bytes="100000")
    assert numbers(pipeline, 2) == [2, 1]
    wait_for_status(pipeline.database, ["published"])
    assert_is_of_today(pipeline.records()[1])


@of_both_kinds
@pytest.mark.timeout(400)
def test_messages_for_a_missing_topic_arrive_in_order_when_it_appears(
    make_kafka: MakeKafka, make_pipeline: MakePipeline, transactional: bool
) -> None:
    pipeline = make_pipeline(kafka=make_kafka(**{"auto.create.topics.enable": "false"}))
    late = f"{pipeline.aggregate_type}-late"
    start(pipeline)
    emit(pipeline, *(content(pipeline, n, aggregatetype=late) for n in range(5)), transactional=transactional)
    wait_for_status(pipeline.database, ["retrying"] * 5)
    emit(pipeline, content(pipeline, 5), transactional=transactional)
    assert numbers(pipeline, 1) == [5]
    assert {row[0] for row in parked(pipeline.database, "reason")} == {"topic_closed"}

    pipeline.kafka.create_topic(f"outbox.event.{late}")
    found = wait_for_records(pipeline.kafka.bootstrap, f"outbox.event.{late}", 5, timeout=120)
    assert [json.loads(record.value() or b"")["n"] for record in found] == list(range(5))
    wait_for_status(pipeline.database, ["published"] * 5)
