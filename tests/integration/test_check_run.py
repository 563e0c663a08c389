"""What `run` makes of the check: it refuses what the preflight refuses, and warns once of everything else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fixtures.fix_kafka import MakeKafka
from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess

pytestmark = pytest.mark.kafka


def warnings(relay: RelayProcess) -> dict[str, dict[str, Any]]:
    said = [json.loads(line) for line in relay.stderr.splitlines() if line.startswith("{")]
    return {each["name"]: each for each in said if each["event"] == "check"}


@pytest.mark.core
def test_a_relay_that_streams_warns_once_of_what_is_not_as_it_should_be(pipeline: Pipeline) -> None:
    pipeline.database.execute(f"ALTER PUBLICATION {pipeline.publication} SET (publish = 'insert, delete')")
    role = pipeline.database.create_relay_role()
    relay = pipeline.start_relay(dsn=pipeline.database.dsn(role))
    relay.wait_for_log("postgres.publication.operations")
    said = warnings(relay)["postgres.publication.operations"]
    assert said["fix"] == f"ALTER PUBLICATION {pipeline.publication} SET (publish = 'insert')"
    assert said["level"] == "warning"
    assert said["stake"]
    event_id = pipeline.insert()
    [record] = pipeline.wait_for_records(1)
    assert record.headers() == [("id", event_id.encode())]
    pipeline.database.terminate_walsenders()
    relay.wait_for_log('"state": "streaming"', count=2)
    assert relay.stop() == 0
    assert relay.stderr.count("postgres.publication.operations") == 1


@pytest.mark.real_kafka
def test_a_missing_topic_is_a_warning_and_the_others_flow(make_kafka: MakeKafka, make_pipeline: MakePipeline) -> None:
    kafka = make_kafka(heap="512m", **{"auto.create.topics.enable": False})
    pipeline = make_pipeline(kafka=kafka)
    routes = [{"when": {"type": "other"}, "topic": "missing.v1"}, {"topic": pipeline.topic}]
    config = pipeline.config()
    outbox = {**config["outboxes"][0], "routes": routes}
    relay = pipeline.start_relay(outboxes=[outbox])
    relay.wait_for_log("missing.v1 does not exist")
    assert warnings(relay)["kafka.topic"]["fix"].startswith("kafka-topics.sh --bootstrap-server ")
    pipeline.insert()
    pipeline.wait_for_records(1)


def test_a_stop_in_the_middle_of_it_is_clean(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay()
    assert relay.stop() == 0
    assert "Traceback" not in relay.stderr
