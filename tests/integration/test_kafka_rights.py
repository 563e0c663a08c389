"""The ACLs of docs/privileges.md, each taken away: what the operator sees, that nothing is lost, and that it goes on
when the right is back. Write that is taken away while others flow: test_closed_topics.py; the rights of `topics apply`:
test_topics.py; those that `check` names: test_check_kafka.py."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.consume import wait_for_records
from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess
from tests.fixtures.parked import parked, wait_for_status
from tests.fixtures.process import wait_until
from tests.integration.check_rig import Check
from tests.integration.secured_kafka_rig import SecuredKafka, secured_kafka
from tests.integration.topics_rig import Topics
from tests.integration.waiting_rig import assert_it_delivers, readiness

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.real_kafka,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on this machine"),
]


@pytest.fixture(scope="module")
def secured() -> Iterator[SecuredKafka]:
    with secured_kafka() as kafka:
        yield kafka


@pytest.fixture
def pipeline(secured: SecuredKafka, make_pipeline: MakePipeline) -> Iterator[Pipeline]:
    """Its principal has no right anywhere, until the test gives one; afterwards again."""
    pipeline = make_pipeline(kafka=secured.broker)
    yield pipeline
    secured.revoke(pipeline.topic, "any")
    secured.revoke(None, "any")


def wait_until_closed(relay: RelayProcess, topic: str) -> None:
    wait_until(lambda: readiness(relay)[1].get("closed_topics") == [topic], timeout=60, what=f"{topic} is closed")


def assert_it_waits(pipeline: Pipeline, event_id: str, code: str) -> None:
    wait_for_status(pipeline.database, ["retrying"])
    [(found, found_code, remedy)] = parked(pipeline.database, "event_id, error_code, remedy")
    assert (found, found_code) == (event_id, code)
    assert "ACLs Describe and Write on the topic" in remedy


# --- run


def test_write_includes_describe(pipeline: Pipeline, secured: SecuredKafka) -> None:
    secured.grant(pipeline.topic, "write")
    pipeline.start_relay(**secured.by("scram"))
    assert_it_delivers(pipeline, pipeline.insert())


def test_without_any_right_the_remedy_is_said_and_after_the_grant_everything_arrives(
    pipeline: Pipeline, secured: SecuredKafka
) -> None:
    relay = pipeline.start_relay(ready=False, **secured.by("scram"))
    event_id = pipeline.insert()
    wait_until(lambda: "authorization failed" in readiness(relay)[1].get("reason", ""), timeout=60, what="it is said")
    secured.grant(pipeline.topic, "describe", "write")
    assert_it_delivers(pipeline, event_id)
    assert relay.is_running


def test_write_that_is_missing_from_the_start_closes_the_topic_and_after_the_grant_everything_arrives(
    pipeline: Pipeline, secured: SecuredKafka
) -> None:
    """IdempotentWrite on the cluster is what lets a producer begin that may write nowhere yet."""
    secured.grant(pipeline.topic, "describe")
    secured.grant(None, "idempotent_write")
    relay = pipeline.start_relay(**secured.by("scram"))
    event_id = pipeline.insert()
    wait_until_closed(relay, pipeline.topic)
    assert_it_waits(pipeline, event_id, "TOPIC_AUTHORIZATION_FAILED")
    secured.grant(pipeline.topic, "write")
    assert_it_delivers(pipeline, event_id)


def test_all_rights_taken_away_while_it_runs_close_the_topic_and_after_the_grant_everything_arrives(
    pipeline: Pipeline, secured: SecuredKafka
) -> None:
    secured.grant(pipeline.topic, "describe", "write")
    relay = pipeline.start_relay(**secured.by("scram"))
    assert_it_delivers(pipeline, pipeline.insert())
    secured.revoke(pipeline.topic, "describe", "write")
    event_id = pipeline.insert()
    wait_until_closed(relay, pipeline.topic)
    assert_it_waits(pipeline, event_id, "TOPIC_AUTHORIZATION_FAILED")
    secured.grant(pipeline.topic, "describe", "write")
    assert_it_delivers(pipeline, event_id)
    assert len(pipeline.records()) == 2


def test_a_dead_letter_topic_that_may_not_be_written_gets_its_copy_when_it_may(
    pipeline: Pipeline, secured: SecuredKafka
) -> None:
    dead_letters = f"{pipeline.topic}.dead"
    secured.broker.create_topic(dead_letters)
    secured.grant(pipeline.topic, "describe", "write")
    nowhere = [{"table": "public.outbox", "routes": [{"when": {"type": "other"}, "topic": pipeline.topic}]}]
    sink = secured.by("scram", topic_metadata_refresh_interval_ms="1000")
    relay = pipeline.start_relay(outboxes=nowhere, parking={"dead_letter_topic": dead_letters}, **sink)
    pipeline.insert()
    relay.wait_for_log('"event": "copy_failed"')
    assert "TOPIC_AUTHORIZATION_FAILED" in relay.stderr
    assert parked(pipeline.database, "status") == [("dead",)]
    secured.grant(dead_letters, "write")
    wait_until(lambda: is_copied(pipeline), timeout=60, what="the copy is made", every=0.5)
    assert len(wait_for_records(secured.broker.bootstrap, dead_letters, 1)) == 1
    secured.revoke(dead_letters, "any")


def is_copied(pipeline: Pipeline) -> bool:
    """Tried again now: by itself it would be half a minute later."""
    with pipeline.database.connect(autocommit=False) as conn:
        conn.execute("UPDATE cdc_relay.parked_records SET next_retry_at = now() WHERE copied_at IS NULL")
        conn.execute("SELECT pg_notify('cdc_relay_lot', '')")
    return parked(pipeline.database, "copied_at IS NOT NULL") == [(True,)]


# --- check and topics


def test_check_needs_no_right_but_those_of_run(pipeline: Pipeline, secured: SecuredKafka, tmp_path: Path) -> None:
    """Without DescribeConfigs it knows less, and fails nothing."""
    routes = [{"table": "public.outbox", "routes": [{"topic": pipeline.topic}]}]
    check = Check(pipeline.config(outboxes=routes, **secured.by("scram")), tmp_path)
    assert check.bad("kafka.topic.rights", "fail")
    secured.grant(pipeline.topic, "describe", "write")
    wait_until(lambda: check.is_fine("kafka.topic.rights"), timeout=30, what="the broker knows the rights")
    assert [each["name"] for each in check.findings() if each["level"] == "fail"] == []


def test_a_plan_needs_describe_and_describe_configs_alone(
    pipeline: Pipeline, secured: SecuredKafka, tmp_path: Path
) -> None:
    kafka = secured.by("scram")["sink"]["kafka"]
    topics = Topics(tmp_path, kafka, topics={pipeline.topic: {"partitions": 1}})
    assert f"grant Describe and DescribeConfigs on topic {pipeline.topic}" in topics.plan().stdout
    secured.grant(pipeline.topic, "describe", "describe_configs")
    topics.settle()
    secured.revoke(pipeline.topic, "describe")
    wait_until(lambda: topics.plan().returncode == 3, timeout=30, what="Describe is missed")
