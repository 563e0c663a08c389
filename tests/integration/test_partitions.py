"""Partitions that rows name, on a real topic with several: where records land, and what is no partition."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess
from tests.fixtures.kafka_broker import KafkaBroker
from tests.fixtures.numbered import NARROW, dlq
from tests.fixtures.process import wait_until

pytestmark = pytest.mark.real_kafka

PARTITION_COUNT = 4
WAYS: dict[str, dict[str, Any]] = {
    "a column by the route": {"route": {"partition": "{part}"}},
    "a place in the payload by the route": {"route": {"partition": "{payload.shard}"}},
    "a column by the mapping": {"columns": {"partition": "part"}},
    "the route before the mapping": {"route": {"partition": "{part}"}, "columns": {"partition": "type"}},
}
BAD = ["one", "-1", "00000000000999999999999", "9999999999999999", "2147483648", "1.0", "", " 1", "1e0", "٣"]
PATIENT = {"base": "10m", "max": "10m", "jitter": 0, "max_retries": 5}
WATCHFUL = {"topic.metadata.refresh.interval.ms": 1000}  # librdkafka asks for new partitions every 5 minutes
PARKED = "SELECT status, error_code, last_error, remedy FROM cdc_relay.parked_records ORDER BY commit_lsn, ordinal"


@pytest.fixture
def pipeline(make_pipeline: MakePipeline) -> Pipeline:
    several = make_pipeline(partitions=PARTITION_COUNT, topic_config=NARROW)
    several.database.execute("ALTER TABLE outbox ADD part text")
    return several


def start(
    pipeline: Pipeline, *, route: Mapping[str, Any] = {}, columns: Mapping[str, Any] = {}, **config: Any
) -> RelayProcess:
    outbox = {"table": "outbox", "columns": dict(columns), "routes": [{"topic": pipeline.topic, **route}]}
    return pipeline.start_relay(outboxes=[outbox], **config)


def insert(pipeline: Pipeline, *parts: str | None) -> None:
    """One row for each, of one key and numbered by its place, in one transaction."""
    with pipeline.database.connect(autocommit=False) as conn:
        for number, part in enumerate(parts):
            payload = json.dumps({"n": number, "shard": part})
            conn.execute("INSERT INTO outbox VALUES (gen_random_uuid(), 't', 'k', 'T', %s, %s)", [payload, part])


def places(pipeline: Pipeline, count: int) -> dict[int, int]:
    """Number -> the partition that it is in."""
    records = pipeline.wait_for_records(count)
    return {json.loads(record.value() or b"")["n"]: record.partition() or 0 for record in records}


def wait_for_parked(pipeline: Pipeline, count: int) -> list[tuple[Any, ...]]:
    wait_until(lambda: len(pipeline.database.execute(PARKED)) == count, timeout=60, what=f"{count} are parked")
    return pipeline.database.execute(PARKED)


@pytest.mark.parametrize("way", WAYS)
def test_records_land_in_the_partition_that_their_row_names(pipeline: Pipeline, way: str) -> None:
    start(pipeline, **WAYS[way])
    insert(pipeline, "3", "1", "0", "2", "3", "001")
    assert places(pipeline, 6) == {0: 3, 1: 1, 2: 0, 3: 2, 4: 3, 5: 1}
    assert pipeline.database.execute(PARKED) == []


@pytest.mark.parametrize("way", WAYS)
def test_null_leaves_it_to_the_partitioner(pipeline: Pipeline, way: str) -> None:
    relay = start(pipeline)
    insert(pipeline, "9")
    [by_key] = places(pipeline, 1).values()
    assert relay.stop() == 0
    start(pipeline, **WAYS[way])
    other = (by_key + 1) % PARTITION_COUNT
    insert(pipeline, None, str(other), None)
    assert places(pipeline, 4) == {0: by_key, 1: other, 2: by_key}


def test_a_partition_that_does_not_exist_is_parked_with_the_remedy_and_the_rest_flows(pipeline: Pipeline) -> None:
    relay = start(pipeline, **WAYS["a column by the mapping"], delivery={"retry": PATIENT})
    insert(pipeline, "0", "4", "1", "2147483647", "2")
    assert places(pipeline, 3) == {0: 0, 2: 1, 4: 2}
    for status, code, reason, remedy in wait_for_parked(pipeline, 2):
        assert (status, code) == ("retrying", "_UNKNOWN_PARTITION")
        assert "partition" in reason.lower()
        assert remedy == "give the topic as many partitions as the route names"
    insert(pipeline, "3")
    assert len(pipeline.wait_for_records(4)) == 4
    assert relay.is_running


def test_what_the_remedy_says_brings_the_parked_record_to_its_partition(pipeline: Pipeline) -> None:
    relay = start(pipeline, **WAYS["a column by the route"], delivery={"retry": PATIENT}, sink={"kafka": WATCHFUL})
    insert(pipeline, "0", "5")
    wait_for_parked(pipeline, 1)
    admin = AdminClient({"bootstrap.servers": pipeline.kafka.bootstrap})
    admin.create_partitions([NewPartitions(pipeline.topic, 6)])[pipeline.topic].result(30)

    def is_published() -> bool:
        dlq(relay, "retry", "--all", "--yes", may_fail=True)
        return [row[0] for row in pipeline.database.execute(PARKED)] == ["published"]

    wait_until(is_published, timeout=60, what="the parked record is published", every=1)
    assert places(pipeline, 2) == {0: 0, 1: 5}


@pytest.mark.parametrize("way", ["a column by the route", "a column by the mapping"])
def test_what_is_no_partition_is_parked_as_dead_and_the_rest_flows(pipeline: Pipeline, way: str) -> None:
    relay = start(pipeline, **WAYS[way])
    insert(pipeline, "3", *BAD, "1")
    assert places(pipeline, 2) == {0: 3, len(BAD) + 1: 1}
    parked = wait_for_parked(pipeline, len(BAD))
    assert {row[:3] for row in parked} == {("dead", "bad_partition", "{part} is no partition")}
    assert all("a whole number from 0" in row[3] for row in parked)
    assert relay.is_running


def test_strict_order_is_by_the_key_that_the_route_makes(pipeline: Pipeline) -> None:
    """Every row has an aggregateid of its own: were that the key, nothing would wait for the failed record."""
    assert isinstance(pipeline.kafka, KafkaBroker)
    relay = start(pipeline, route={"key": "{payload.customer.id}", "ordering": "strict"}, delivery={"retry": PATIENT})
    commit_customers(pipeline, range(60), too_large=20)
    late = [number for number in range(60) if number % 3 == 20 % 3 and number >= 20]
    wait_until(lambda: len(pipeline.records()) == 60 - len(late), timeout=60, what="the others have arrived")
    wait_for_parked(pipeline, len(late))
    pipeline.kafka.configure_topic(pipeline.topic, max_message_bytes="200000")
    dlq(relay, "retry", "--all", "--yes")
    assert numbers_by_key(pipeline, 60) == {
        str(customer).encode(): [number for number in range(60) if number % 3 == customer] for customer in range(3)
    }


def commit_customers(pipeline: Pipeline, numbers: range, *, too_large: int) -> None:
    for number in numbers:
        pad = "x" * 25_000 if number == too_large else ""
        payload = json.dumps({"n": number, "customer": {"id": number % 3}, "pad": pad})
        pipeline.database.execute(
            "INSERT INTO outbox VALUES (gen_random_uuid(), 't', gen_random_uuid(), 'T', %s)", [payload]
        )


def numbers_by_key(pipeline: Pipeline, count: int) -> dict[bytes, list[int]]:
    """A key is in one partition, which is read in its order."""
    found: dict[bytes, list[int]] = {}
    for record in pipeline.wait_for_records(count):
        found.setdefault(record.key() or b"", []).append(json.loads(record.value() or b"")["n"])
    return found
