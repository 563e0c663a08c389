"""What cannot be published in a replay: parked for the running relay, or waited for; the rest goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_relay import MakePipeline, MakeRelay, Pipeline
from tests.fixtures.parked import parked, run_dlq, wait_for_parked, wait_for_status
from tests.fixtures.process import wait_until
from tests.integration.replay_rig import header_of, ids_of, insert_rows, marks, replay, run_rows, start_replay, summary
from tests.integration.teardown_rig import park as fill_lot

pytestmark = pytest.mark.kafka


@pytest.mark.core
def test_an_unroutable_row_is_parked_and_published_by_the_running_relay_with_the_header(
    pipeline: Pipeline, make_relay: MakeRelay
) -> None:
    """Repaired by another configuration, as an operator would."""
    ids = insert_rows(pipeline, 3)
    narrow = [{"when": {"aggregateid": ["k0", "k2"]}, "topic": pipeline.topic, "ordering": "strict"}]
    wide = [{"topic": pipeline.topic, "ordering": "strict"}]
    relay = pipeline.start_relay(outboxes=[{"table": "public.outbox", "routes": wide}])
    pipeline.wait_for_records(3)
    process = replay(make_relay, pipeline, outboxes=[{"table": "public.outbox", "routes": narrow}])
    done = summary(process)
    assert (done["published"], done["parked"]) == (2, 1)
    [(number,)] = parked(pipeline.database, "id::text")
    run_dlq(relay, "retry", number)
    wait_for_status(pipeline.database, ["published"])
    records = pipeline.wait_for_records(6)[3:]
    assert sorted(ids_of(records)) == sorted(ids)
    assert marks(records) == {done["run"]}
    assert parked(pipeline.database, "run, event_id, strict") == [(done["run"], ids[1], False)]
    assert relay.is_running


def test_a_record_that_the_broker_refuses_is_parked_alone(make_pipeline: MakePipeline, make_relay: MakeRelay) -> None:
    pipeline = make_pipeline(topic_config={"max.message.bytes": "2000"})
    pipeline.insert("k1")
    pipeline.insert("k1", payload='{"id": "big", "pad": "%s"}' % ("é" * 4000))
    pipeline.insert("k1")
    done = summary(replay(make_relay, pipeline))
    assert (done["published"], done["parked"]) == (2, 1)
    assert len(pipeline.wait_for_records(2)) == 2
    [(status, headers)] = parked(pipeline.database, "status, headers::text")
    assert status in ("retrying", "dead") and done["run"] in headers


@pytest.mark.real_kafka
def test_a_closed_topic_parks_its_records_for_the_running_relay(
    make_pipeline: MakePipeline, make_relay: MakeRelay, make_kafka: Callable[..., KafkaBroker]
) -> None:
    """The topic is made afterwards: the relay, which never saw these records, gets them there."""
    pipeline = make_pipeline(kafka=make_kafka(**{"auto.create.topics.enable": False}))
    ids = insert_rows(pipeline, 6)
    late = f"{pipeline.topic}.late"
    routes = [{"when": {"aggregateid": "k1"}, "topic": late}, {"topic": pipeline.topic}]
    outboxes = [{"table": "public.outbox", "routes": routes}]
    done = summary(replay(make_relay, pipeline, outboxes=outboxes))
    assert (done["published"], done["parked"]) == (4, 2)
    assert [event_id for (event_id,) in parked(pipeline.database, "event_id")] == [ids[1], ids[4]]
    pipeline.database.execute("TRUNCATE public.outbox")
    pipeline.database.execute(f"SELECT pg_replication_slot_advance('{pipeline.slot}', pg_current_wal_lsn())")
    relay = pipeline.start_relay(outboxes=outboxes)
    assert [status for (status,) in parked(pipeline.database)] == ["retrying", "retrying"]
    pipeline.kafka.create_topic(late, 1)
    wait_for_status(pipeline.database, ["published", "published"])
    assert relay.is_running


@pytest.mark.real_kafka
def test_a_broker_that_is_away_is_waited_for_and_parks_nothing(
    make_pipeline: MakePipeline, make_relay: MakeRelay, make_kafka: Callable[..., KafkaBroker]
) -> None:
    broker = make_kafka()
    pipeline = make_pipeline(kafka=broker)
    ids = insert_rows(pipeline, 200)
    process = start_replay(make_relay, pipeline, "--rate", "40")
    wait_until(lambda: len(pipeline.records()) > 20, timeout=60, what="records flow")
    broker.stop()
    process.wait_for_log("waiting for Kafka", timeout=60)
    broker.start()
    assert process.wait(120) == 0
    assert ids_of(pipeline.wait_for_records(200)) == ids
    assert parked(pipeline.database) == []
    assert run_rows(pipeline) == [("finished",)]


def test_a_schedule_in_the_future_waits_in_the_lot(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    ids = insert_rows(pipeline, 2)
    pipeline.database.execute("ALTER TABLE public.outbox ADD COLUMN due timestamptz")
    pipeline.database.execute("UPDATE public.outbox SET due = now() + interval '1 day' WHERE id = %s", [ids[0]])
    outboxes = [{"table": "public.outbox", "columns": {"scheduled_at": "due"}}]
    done = summary(replay(make_relay, pipeline, outboxes=outboxes))
    assert (done["published"], done["parked"]) == (1, 1)
    wait_for_parked(pipeline.database, 1, where="status = 'scheduled'")
    assert header_of(pipeline.wait_for_records(1)[0]) == done["run"]


def test_what_others_have_parked_counts_for_the_limit_of_the_lot(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    """The run waits while the lot is full, and goes on when there is room."""
    fill_lot(pipeline.database, pipeline.slot, "dead", "dead")
    insert_rows(pipeline, 1)
    elsewhere = [{"when": {"aggregateid": ["nobody"]}, "topic": pipeline.topic}]
    options: dict[str, Any] = {"parking": {"limit": {"records": 2}}}
    running = start_replay(make_relay, pipeline, outboxes=[{"table": "public.outbox", "routes": elsewhere}], **options)
    running.wait_for_log("the lot is full")
    assert parked(pipeline.database, "status") == [("dead",), ("dead",)]
    pipeline.database.execute("DELETE FROM cdc_relay.parked_records")
    assert running.wait(120) == 0, running.stderr
    assert summary(running)["parked"] == 1
