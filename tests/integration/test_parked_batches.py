"""A verdict on a batch, by a real broker: only the culprit is parked, the rest arrives in order."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from tests.fixtures.fix_relay import MakePipeline, Pipeline
from tests.fixtures.outbox import insert_event
from tests.fixtures.parked import end_lsn, parked
from tests.integration.parking_rig import number_of, wait_confirmed

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]

Connection = psycopg.Connection[Any]

PATIENT = {"base": "1h", "max": "1h"}  # no retry while the test lasts


@dataclass
class Batch:
    ids: list[str]
    end_lsn: int


def insert_all(pipeline: Pipeline, keys: list[str | None], *, sizes: dict[int, int], size: int = 0) -> Batch:
    """In one transaction, before the relay starts: they travel together. `sizes` of some, by number."""
    with pipeline.database.connect() as conn:
        with conn.transaction():
            ids = [insert_numbered(conn, pipeline, n, key, sizes.get(n, size)) for n, key in enumerate(keys)]
        return Batch(ids, end_lsn(conn))


def insert_numbered(conn: Connection, pipeline: Pipeline, number: int, key: str | None, size: int) -> str:
    payload = json.dumps({"n": number, "pad": "x" * size})
    return insert_event(conn, pipeline.aggregate_type, key, payload=payload)


def numbers_on(pipeline: Pipeline) -> list[int]:
    return [number_of(record) for record in pipeline.records()]


def test_a_keyless_record_for_a_compacted_topic_is_the_only_one_of_its_batch_that_is_parked(
    make_pipeline: MakePipeline,
) -> None:
    pipeline = make_pipeline(topic_config={"cleanup.policy": "compact"})
    batch = insert_all(pipeline, [None if n == 100 else f"k{n % 7}" for n in range(201)], sizes={})
    pipeline.start_relay()
    wait_confirmed(pipeline, batch.end_lsn)
    assert parked(pipeline.database, "event_id, status, error_code") == [(batch.ids[100], "dead", "INVALID_RECORD")]
    assert sorted(numbers_on(pipeline)) == [n for n in range(201) if n != 100]


@pytest.mark.parametrize("culprits", [{150}, {20, 21, 100, 299}, set(range(300))], ids=["one", "some", "all"])
def test_of_a_batch_only_what_is_too_large_alone_is_parked(culprits: set[int], make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline(topic_config={"max.message.bytes": "20000"})
    batch = insert_all(pipeline, ["k"] * 300, sizes=dict.fromkeys(culprits, 21_000), size=15_000)
    pipeline.start_relay(delivery={"retry": PATIENT})
    wait_confirmed(pipeline, batch.end_lsn)
    found = parked(pipeline.database, "event_id, status, error_code")
    assert found == [(batch.ids[n], "retrying", "MSG_SIZE_TOO_LARGE") for n in sorted(culprits)]
    assert sorted(numbers_on(pipeline)) == [n for n in range(300) if n not in culprits]


@pytest.mark.parametrize("ordering", ["relaxed", "strict"])
def test_records_that_only_together_are_too_large_for_the_topic_are_all_delivered(
    ordering: str, make_pipeline: MakePipeline
) -> None:
    pipeline = make_pipeline(topic_config={"max.message.bytes": "2000"})
    batch = insert_all(pipeline, [f"k{n % 30}" for n in range(300)], sizes={}, size=400)
    pipeline.start_relay(delivery={"ordering": ordering})
    wait_confirmed(pipeline, batch.end_lsn)
    assert parked(pipeline.database, "status, error_code") == []
    assert sorted(numbers_on(pipeline)) == list(range(300))


def test_order_per_key_is_kept_on_a_strict_route_when_a_batch_is_refused(make_pipeline: MakePipeline) -> None:
    """One record fails alone and goes on being retried; other keys' records were in its batch."""
    pipeline = make_pipeline(topic_config={"max.message.bytes": "20000"})
    batch = insert_all(pipeline, [f"k{n % 30}" for n in range(300)], sizes={100: 30_000}, size=600)
    pipeline.start_relay(delivery={"ordering": "strict", "retry": PATIENT})
    wait_confirmed(pipeline, batch.end_lsn)
    behind = [n for n in range(101, 300) if n % 30 == 10]
    held = parked(pipeline.database, "status, convert_from(value, 'UTF8')::jsonb -> 'n'")
    assert held == [("retrying", 100), *(("behind", n) for n in behind)]
    found = numbers_on(pipeline)
    assert sorted(found) == [n for n in range(300) if n != 100 and n not in behind]
    for key in range(30):
        of_key = [n for n in found if n % 30 == key]
        assert of_key == sorted(of_key)
