"""A lot in another database than the outbox, with a connection of its own."""

from __future__ import annotations

import json

import pytest

from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_postgres import Database
from tests.fixtures.fix_relay import MakePipeline, Pipeline
from tests.fixtures.outbox import create_lot
from tests.fixtures.parked import end_lsn, parked, wait_for_status
from tests.fixtures.process import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]


def test_the_lot_may_be_in_another_database(make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline(topic_config={"max.message.bytes": "1000"})
    pipeline.database.execute("DROP TABLE cdc_relay.parked_records, cdc_relay.runs CASCADE")
    other = Database(pipeline.database.server)
    try:
        with other.connect() as conn:
            create_lot(conn)
        other.grant_schema(pipeline.role)
        relay = pipeline.start_relay(
            delivery={"retry": {"base": "500ms", "max": "500ms", "max_retries": 1000}},
            parking={"dsn": other.dsn(pipeline.role)},
        )
        event_id = pipeline.insert(payload=json.dumps({"pad": "x" * 5000}))
        end = end_lsn(pipeline.database)
        wait_until(lambda: pipeline.confirmed_lsn() >= end, timeout=60, what="the parked record is confirmed")
        assert parked(other, "event_id, status") == [(event_id, "retrying")]
        assert isinstance(pipeline.kafka, KafkaBroker)
        pipeline.kafka.configure_topic(pipeline.topic, max_message_bytes="100000")
        wait_for_status(other, ["published"])
        assert len(pipeline.records()) == 1
        assert relay.stop() == 0
    finally:
        other.drop()


def test_errors_of_the_lot_s_connection_name_its_own_setting(pipeline: Pipeline) -> None:
    nowhere = pipeline.dsn().replace(pipeline.database.name, "no_such_database")
    relay = pipeline.start_relay("--no-wait", ready=False, parking={"dsn": nowhere})
    assert relay.wait(60) == 3
    assert "parking.dsn" in relay.stderr
