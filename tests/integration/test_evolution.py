"""An outbox whose table changes while it is read: columns come, go, move and change their type; partitions too."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fixtures.fix_relay import MakePipeline, Pipeline
from tests.fixtures.process import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.core]

PARKED = "SELECT error_code, last_error, status FROM cdc_relay.parked_records ORDER BY commit_lsn, ordinal"
PARTED = """
CREATE TABLE parted (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb, n int)
 PARTITION BY RANGE (n);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES FROM (0) TO (10);
"""


def insert(pipeline: Pipeline, number: int, *, table: str = "outbox", **more: Any) -> None:
    row: dict[str, Any] = {"aggregatetype": pipeline.aggregate_type, "aggregateid": "k", "type": "T"}
    row |= {"payload": json.dumps({"n": number})} | more
    names, marks = ", ".join(row), ", ".join(["%s"] * len(row))
    pipeline.database.execute(
        f"INSERT INTO {table} (id, {names}) VALUES (gen_random_uuid(), {marks})", list(row.values())
    )


def numbers(pipeline: Pipeline, count: int) -> list[int]:
    return [json.loads(record.value() or b"")["n"] for record in pipeline.wait_for_records(count)]


def alter(pipeline: Pipeline, change: str) -> None:
    pipeline.database.execute(f"ALTER TABLE outbox {change}")


@pytest.mark.parametrize(
    "changes",
    [
        ["ADD note text DEFAULT 'x'"],
        ["ADD note text", "DROP note"],
        ["ADD note text", "RENAME note TO remark"],
        ["ALTER payload TYPE json"],
        ["ALTER payload TYPE text"],
        ["ALTER aggregateid TYPE varchar(20)"],
        ["ALTER id TYPE text"],
        ["DROP COLUMN type, ADD type text"],  # behind payload from now on
        ["ADD first text", "DROP payload", "ADD payload jsonb", "DROP first"],
        ["REPLICA IDENTITY FULL"],
    ],
    ids=lambda changes: "; ".join(changes),
)
def test_a_change_of_the_table_in_mid_stream_changes_nothing_for_consumers(
    pipeline: Pipeline, changes: list[str]
) -> None:
    relay = pipeline.start_relay()
    insert(pipeline, 1)
    with pipeline.database.connect(autocommit=False) as conn:  # in the middle of a transaction that writes too
        conn.execute(
            "INSERT INTO outbox VALUES (gen_random_uuid(), %s, 'k', 'T', '{\"n\": 2}')", [pipeline.aggregate_type]
        )
        for change in changes:
            conn.execute(f"ALTER TABLE outbox {change}")
        conn.execute(
            "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)"
            " VALUES (gen_random_uuid()::text::uuid, %s, 'k', 'T', '{\"n\": 3}')"
            if "ALTER id TYPE text" not in changes
            else "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)"
            " VALUES (gen_random_uuid()::text, %s, 'k', 'T', '{\"n\": 3}')",
            [pipeline.aggregate_type],
        )
    assert numbers(pipeline, 3) == [1, 2, 3]
    assert relay.is_running
    assert pipeline.database.execute(PARKED) == []


def test_a_mapped_column_that_disappears_is_a_failure_for_its_rows_until_it_is_back(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay()
    insert(pipeline, 1)
    alter(pipeline, "RENAME type TO kind")
    pipeline.database.execute(
        "INSERT INTO outbox (id, aggregatetype, aggregateid, kind, payload)"
        " VALUES (gen_random_uuid(), %s, 'k', 'T', '{\"n\": 2}')",
        [pipeline.aggregate_type],
    )
    wait_until(lambda: len(pipeline.database.execute(PARKED)) == 1, timeout=60, what="the row is parked")
    alter(pipeline, "RENAME kind TO type")
    insert(pipeline, 3)
    assert numbers(pipeline, 2) == [1, 3]
    [(code, reason, status)] = pipeline.database.execute(PARKED)
    assert (code, status) == ("missing_column", "dead")
    assert "public.outbox has no column type" in reason
    assert relay.is_running


def test_clean_up_jobs_are_never_published_and_counted(pipeline: Pipeline) -> None:
    pipeline.database.execute(
        f"ALTER PUBLICATION {pipeline.publication} SET (publish = 'insert, update, delete, truncate')"
    )
    relay = pipeline.start_relay()
    insert(pipeline, 1)
    pipeline.database.execute("UPDATE outbox SET type = 'seen'")
    pipeline.database.execute("DELETE FROM outbox")
    pipeline.database.execute("TRUNCATE outbox")
    insert(pipeline, 2)
    assert numbers(pipeline, 2) == [1, 2]
    wait_until(lambda: relay.metric("outbox_foreign_changes_total") == 3, timeout=30, what="they are counted")


def test_partitions_come_and_go(make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline()
    for statement in PARTED.strip().split(";\n"):
        pipeline.database.execute(statement)
    execute = pipeline.database.execute
    execute(f"DROP PUBLICATION {pipeline.publication}")
    execute(f"CREATE PUBLICATION {pipeline.publication} FOR TABLE parted WITH (publish_via_partition_root)")
    execute("SELECT pg_drop_replication_slot(%s)", [pipeline.slot])
    execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [pipeline.slot])
    relay = pipeline.start_relay(outboxes=[{"table": "public.parted"}])
    insert(pipeline, 1, table="parted", n=1)
    execute("CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (10) TO (20)")
    insert(pipeline, 11, table="parted", n=11)
    execute("CREATE TABLE parted_2 (payload jsonb, n int, id uuid, type text, aggregateid text, aggregatetype text)")
    execute("ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (20) TO (30)")  # its columns stand elsewhere
    insert(pipeline, 21, table="parted", n=21)
    execute("ALTER TABLE parted DETACH PARTITION parted_0")
    execute("DROP TABLE parted_0")
    insert(pipeline, 12, table="parted", n=12)
    assert numbers(pipeline, 4) == [1, 11, 21, 12]
    assert relay.is_running
    assert pipeline.database.execute(PARKED) == []
