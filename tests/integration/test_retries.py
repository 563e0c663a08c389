"""What may pass is tried again, by itself and not for ever; the dead are copied; what had no route is routed anew."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka import Message

from tests.fixtures.consume import read_topic, wait_for_records
from tests.fixtures.fix_kafka import KafkaBroker, MakeKafka
from tests.fixtures.fix_relay import MakePipeline, Pipeline
from tests.fixtures.outbox import insert_event
from tests.fixtures.parked import (
    end_lsn,
    keep_history,
    logged,
    parked,
    run_dlq,
    wait_for_parked,
    wait_for_status,
)
from tests.fixtures.planted import PAYLOAD
from tests.fixtures.process import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]

SMALL = {"max.message.bytes": "2000"}
BIG = json.dumps({"pad": "x" * 5000})
QUICK = {"base": "500ms", "max": "1s", "jitter": 0}
NEVER = {"base": "1h", "max": "1h"}
COLUMNS = {"id": "id", "key": "aggregateid", "type": "type", "payload": "payload"}


def insert(pipeline: Pipeline, aggregate_type: str, *, key: str | None = "k1", payload: str | None = None) -> str:
    with pipeline.database.connect() as conn:
        return insert_event(conn, aggregate_type, key, payload=payload)


def history(pipeline: Pipeline) -> list[tuple[Any, ...]]:
    """Each state that a record was left in: status, attempts, seconds to wait."""
    return pipeline.database.execute(
        "SELECT status, attempts, wait_seconds::float8 FROM lot_history"
        " WHERE NOT is_claimed AND NOT is_copied ORDER BY number"
    )


def value_of(record: Message) -> Any:
    return json.loads(record.value() or b"null")


# --- a failure that may pass


def test_a_record_that_its_topic_refuses_is_published_by_itself_once_the_topic_takes_it(
    make_pipeline: MakePipeline,
) -> None:
    pipeline = make_pipeline(topic_config=SMALL)
    keep_history(pipeline.database)
    pipeline.start_relay(delivery={"retry": {**QUICK, "max_retries": 1000}})
    event_id = pipeline.insert("k7", payload=BIG)
    wait_until(lambda: ("retrying", 1, 1.0) in history(pipeline), timeout=60, what="one retry has failed")
    waiting = parked(pipeline.database, "status, reason, error_code, error_class, max_attempts, published_at, topic")
    assert waiting == [("retrying", "failure", "MSG_SIZE_TOO_LARGE", "transient", 1000, None, pipeline.topic)]

    assert isinstance(pipeline.kafka, KafkaBroker)
    pipeline.kafka.configure_topic(pipeline.topic, max_message_bytes="100000")
    wait_for_status(pipeline.database, ["published"])
    [record] = pipeline.records()
    assert (record.key(), record.headers(), value_of(record)) == (b"k7", [("id", event_id.encode())], json.loads(BIG))
    [(is_dated, commit_ms)] = parked(
        pipeline.database, "published_at IS NOT NULL, floor(extract(epoch FROM commit_time) * 1000)::bigint"
    )
    assert (is_dated, record.timestamp()[1]) == (True, commit_ms)


def test_later_records_of_a_relaxed_route_do_not_wait_for_a_retry(make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline(topic_config=SMALL)
    pipeline.start_relay(delivery={"retry": NEVER})
    pipeline.insert("k1", payload=BIG)
    later = [pipeline.insert("k1") for _ in range(5)]
    end = end_lsn(pipeline.database)
    found = [value_of(record)["id"] for record in pipeline.wait_for_records(5)]
    assert found == later
    wait_until(lambda: pipeline.confirmed_lsn() >= end, timeout=60, what="the slot is confirmed behind all of them")


def test_the_delay_doubles_up_to_its_longest_and_the_last_try_is_the_end(make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline(topic_config=SMALL)
    keep_history(pipeline.database)
    relay = pipeline.start_relay(delivery={"retry": {**QUICK, "max_retries": 3}})
    pipeline.insert(payload=BIG)
    wait_for_status(pipeline.database, ["dead"])
    assert history(pipeline) == [("retrying", 0, 0.5), ("retrying", 1, 1.0), ("retrying", 2, 1.0), ("dead", 3, None)]
    relay.wait_for_log('"outbox_failed"')
    assert len(logged(relay, "outbox_failed")) == 1
    relay.stop()
    relay.start().wait_ready()
    end = insert_and_confirm(pipeline)
    assert len(logged(relay, "outbox_failed")) == 1
    assert value_of(pipeline.records()[-1])["id"] == end


def insert_and_confirm(pipeline: Pipeline) -> str:
    event_id = pipeline.insert()
    end = end_lsn(pipeline.database)
    wait_until(lambda: pipeline.confirmed_lsn() >= end, timeout=60, what="the last event is confirmed")
    return event_id


RETRY_OF = {
    "standard": ({}, 5, (4.5, 5.5)),
    "aggressive": ({"preset": "aggressive"}, 3, (0.8, 1.2)),
    "explicit": ({"preset": "aggressive", "base": "20s", "jitter": 0, "max_retries": 7}, 7, (20.0, 20.0)),
}


FIRST_DELAYS = """
SELECT id, wait_seconds FROM lot_history WHERE status = 'retrying' AND attempts = 0 AND NOT is_claimed
"""


def test_each_route_retries_as_it_says_or_else_as_the_whole_delivery_does(make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline(topic_config=SMALL)
    keep_history(pipeline.database)
    routes = [
        {"name": name, "when": {"aggregatetype": name}, "topic": pipeline.topic, "retry": retry}
        for name, (retry, _, _) in {**RETRY_OF, "none": ({"max_retries": 0}, 0, (0, 0))}.items()
    ]
    pipeline.start_relay(outboxes=[{"table": "public.outbox", "columns": COLUMNS, "routes": routes}])
    for name in (*RETRY_OF, "none"):
        insert(pipeline, name, payload=BIG)
    wait_for_parked(pipeline.database, 4)
    rows = {route: rest for route, *rest in parked(pipeline.database, "route, max_attempts, id")}
    first: dict[int, float] = dict(pipeline.database.execute(FIRST_DELAYS))
    for name, (_, max_attempts, (shortest, longest)) in RETRY_OF.items():
        found_attempts, record_id = rows[name]
        assert found_attempts == max_attempts
        assert shortest <= first[record_id] <= longest
    assert parked(pipeline.database, "status, attempts", where="route = 'none'") == [("dead", 0)]


# --- the dead-letter topic


def test_a_dead_record_is_copied_once_with_its_key_value_and_headers_and_the_error(make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline(topic_config=SMALL)
    letters = f"{pipeline.topic}.dead"
    relay = pipeline.start_relay(
        delivery={"retry": {**QUICK, "max_retries": 2}}, parking={"dead_letter_topic": letters}
    )
    event_id = pipeline.insert("k7", payload=BIG)
    [copy] = wait_for_records(pipeline.kafka.bootstrap, letters, 1)
    [(error, lsn)] = parked(pipeline.database, "last_error, commit_lsn::text")
    assert (copy.key(), value_of(copy)) == (b"k7", json.loads(BIG))
    assert copy.headers() == [
        ("id", event_id.encode()),
        ("cdc-relay-error-class", b"transient"),
        ("cdc-relay-error-code", b"MSG_SIZE_TOO_LARGE"),
        ("cdc-relay-error", error.encode()),
        ("cdc-relay-attempts", b"2"),
        ("cdc-relay-original-topic", pipeline.topic.encode()),
        ("cdc-relay-lsn", lsn.encode()),
    ]
    wait_until(lambda: parked(pipeline.database, "copied_at")[0][0] is not None, timeout=30, what="the copy is marked")
    assert parked(pipeline.database) == [("dead",)]
    relay.stop()
    relay.start().wait_ready()
    insert_and_confirm(pipeline)
    assert len(read_topic(pipeline.kafka.bootstrap, letters)) == 1


@pytest.mark.timeout(400)
def test_a_copy_waits_for_its_topic_while_the_row_is_dead_already(
    make_kafka: MakeKafka, make_pipeline: MakePipeline
) -> None:
    pipeline = make_pipeline(kafka=make_kafka(**{"auto.create.topics.enable": "false"}))
    letters = f"{pipeline.topic}.dead"
    relay = pipeline.start_relay(parking={"dead_letter_topic": letters})
    event_id = insert(pipeline, "not/allowed", payload='{"a": 1}')
    relay.wait_for_log("copy_failed", timeout=60)
    assert parked(pipeline.database, "status, copied_at, error_code") == [("dead", None, "illegal_topic")]
    good = insert_and_confirm(pipeline)
    assert [value_of(record)["id"] for record in pipeline.records()] == [good]

    pipeline.kafka.create_topic(letters)
    [copy] = wait_for_records(pipeline.kafka.bootstrap, letters, 1, timeout=120)
    headers = dict(copy.headers() or [])
    assert (copy.key(), value_of(copy)) == (b"k1", {"a": 1})
    assert (headers["cdc-relay-error-class"], headers["cdc-relay-original-topic"]) == (b"permanent", None)
    wait_until(lambda: parked(pipeline.database, "copied_at")[0][0] is not None, timeout=30, what="the copy is marked")
    assert parked(pipeline.database, "status, attempts, event_id") == [("dead", 0, event_id)]


# --- rows that had no way to a topic


def routed(*routes: dict[str, Any], **columns: str) -> list[dict[str, Any]]:
    return [{"table": "public.outbox", "columns": {**COLUMNS, **columns}, "routes": list(routes)}]


def test_a_row_without_a_route_is_routed_again_on_retry_after_the_routes_were_corrected(pipeline: Pipeline) -> None:
    first = pipeline.start_relay(outboxes=routed({"when": {"aggregatetype": "other"}, "topic": pipeline.topic}))
    event_id = pipeline.insert("k7")
    wait_for_status(pipeline.database, ["dead"])
    [(record_id,)] = parked(pipeline.database, "id")
    run_dlq(first, "retry", str(record_id))
    wait_until(lambda: parked(pipeline.database, "status, attempts") == [("dead", 1)], timeout=30, what="dead again")
    assert first.stop() == 0

    second = pipeline.start_relay(outboxes=routed({"topic": "outbox.event.{aggregatetype}"}))
    run_dlq(second, "retry", str(record_id))
    wait_for_status(pipeline.database, ["published"])
    [record] = pipeline.records()
    assert (record.key(), record.headers(), value_of(record)) == (
        b"k7",
        [("id", event_id.encode())],
        {"id": event_id, "x": PAYLOAD},
    )
    assert parked(pipeline.database, "topic, convert_from(key, 'UTF8')") == [(pipeline.topic, "k7")]


def test_a_row_that_lacks_a_mapped_column_is_routed_again_on_retry_after_the_mapping_was_corrected(
    pipeline: Pipeline,
) -> None:
    """It was written before the column came, and the relay had not read it by then."""
    event_id = pipeline.insert("k7")
    pipeline.database.execute("ALTER TABLE outbox ADD destination text")
    template = {"topic": "outbox.event.{destination}"}
    first = pipeline.start_relay(outboxes=routed(template))
    wait_for_status(pipeline.database, ["dead"])
    assert parked(pipeline.database, "error_code, event_id") == [("missing_column", event_id)]
    assert first.stop() == 0

    second = pipeline.start_relay(outboxes=routed({"topic": "outbox.event.{aggregatetype}"}))
    run_dlq(second, "retry", "--all", "--yes")
    wait_for_status(pipeline.database, ["published"])
    assert [value_of(record)["id"] for record in pipeline.records()] == [event_id]


def test_an_operator_s_retry_is_carried_out_at_once(make_pipeline: MakePipeline) -> None:
    """Though its own time would come in an hour."""
    pipeline = make_pipeline(topic_config=SMALL)
    relay = pipeline.start_relay(delivery={"retry": NEVER})
    event_id = pipeline.insert(payload=BIG)
    wait_for_status(pipeline.database, ["retrying"])
    assert isinstance(pipeline.kafka, KafkaBroker)
    pipeline.kafka.configure_topic(pipeline.topic, max_message_bytes="100000")
    run_dlq(relay, "retry", event_id)
    wait_for_status(pipeline.database, ["published"])
    assert len(pipeline.records()) == 1


# --- a large one


@pytest.mark.timeout(400)
def test_a_payload_of_10_mb_is_parked_whole_and_published_after_the_repair(make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline(payload_type="text")
    retry = {**QUICK, "max_retries": 1000}
    pipeline.start_relay(sink={"kafka": {"message.max.bytes": 20_000_000}}, delivery={"retry": retry})
    payload = "".join(chr(ord("a") + n % 26) for n in range(10 << 20))
    pipeline.insert("k7", payload=payload)
    wait_for_parked(pipeline.database, 1)
    [(size, same)] = parked(
        pipeline.database, "length(value), convert_from(value, 'UTF8') = (SELECT payload FROM outbox)"
    )
    assert (size, same) == (10 << 20, True)

    assert isinstance(pipeline.kafka, KafkaBroker)
    pipeline.kafka.configure_topic(pipeline.topic, max_message_bytes="20000000")
    wait_for_status(pipeline.database, ["published"])
    [record] = pipeline.records()
    assert record.value() == payload.encode()
