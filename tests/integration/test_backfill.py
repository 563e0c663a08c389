"""`setup --backfill` on real servers: each row from before the slot once, none twice with what streams later."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.fixtures.fix_relay import MakeRelay, Pipeline
from tests.fixtures.outbox import insert_event
from tests.fixtures.parked import parked, run_dlq
from tests.fixtures.process import wait_until
from tests.integration.replay_rig import (
    backfill,
    header_of,
    ids_of,
    insert_rows,
    run_rows,
    without_slot,
)

pytestmark = pytest.mark.kafka

HEADER = "cdc-relay-backfill"


@contextmanager
def writing(pipeline: Pipeline) -> Iterator[list[str]]:
    """Events committed one after the other all the while; their ids."""
    ids: list[str] = []
    is_over = threading.Event()

    def write() -> None:
        with pipeline.database.connect() as conn:
            while not is_over.is_set():
                ids.append(insert_event(conn, pipeline.aggregate_type))
                is_over.wait(0.002)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield ids
    finally:
        is_over.set()
        writer.join()


@pytest.mark.core
def test_each_row_arrives_once_while_others_are_committed_before_during_and_after(
    pipeline: Pipeline, make_relay: MakeRelay
) -> None:
    without_slot(pipeline)
    first = insert_rows(pipeline, 50)
    with writing(pipeline) as ids:
        wait_until(lambda: len(ids) > 100, timeout=60, what="rows are committed before the slot")
        backfill(make_relay, pipeline, "--rate", "400")
        count = len(ids)
        wait_until(lambda: len(ids) > count + 100, timeout=60, what="rows are committed after the backfill")
        pipeline.start_relay()
        count = len(ids)
        wait_until(lambda: len(ids) > count + 100, timeout=60, what="rows are committed while the relay runs")
    records = pipeline.wait_for_records(50 + len(ids))
    assert Counter(ids_of(records)) == Counter(first + ids)
    assert {header_of(record, HEADER) is not None for record in records} == {True, False}
    assert run_rows(pipeline, "kind, state, attempt") == [("backfill", "finished", 1)]


def test_a_row_that_cannot_be_published_is_parked_and_left_to_the_relay(
    pipeline: Pipeline, make_relay: MakeRelay
) -> None:
    without_slot(pipeline)
    ids = insert_rows(pipeline, 3)
    narrow = [{"when": {"aggregateid": ["k0", "k2"]}, "topic": pipeline.topic}]
    backfill(make_relay, pipeline, outboxes=[{"table": "public.outbox", "routes": narrow}])
    relay = pipeline.start_relay()
    run_dlq(relay, "retry", parked(pipeline.database, "id::text")[0][0])
    records = pipeline.wait_for_records(3)
    assert sorted(ids_of(records)) == sorted(ids)
    assert len({header_of(record, HEADER) for record in records}) == 1


def test_several_outboxes_and_partitions_are_backfilled(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    without_slot(pipeline)
    ids = insert_rows(pipeline, 3)
    pipeline.database.execute(
        "CREATE TABLE public.commands (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)"
        " PARTITION BY HASH (id)"
    )
    for number in range(2):
        pipeline.database.execute(
            f"CREATE TABLE public.commands_{number} PARTITION OF public.commands"
            f" FOR VALUES WITH (MODULUS 2, REMAINDER {number})"
        )
    with pipeline.database.connect() as conn:
        ids += [insert_event(conn, pipeline.aggregate_type, table="public.commands") for _ in range(10)]
    outboxes = [{"table": "public.outbox"}, {"message_prefix": "outbox"}, {"table": "public.commands"}]
    backfill(make_relay, pipeline, outboxes=outboxes)
    with pipeline.database.connect() as conn:
        ids.append(insert_event(conn, pipeline.aggregate_type, table="public.commands"))
    pipeline.start_relay(outboxes=outboxes)
    assert Counter(ids_of(pipeline.wait_for_records(14))) == Counter(ids)


def test_no_time_limit_of_the_database_ends_the_snapshot(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    without_slot(pipeline)
    ids = insert_rows(pipeline, 40)
    database = pipeline.database
    limits = ["idle_in_transaction_session_timeout", "statement_timeout", "idle_session_timeout"]
    limits += ["transaction_timeout"] if database.server.version >= 17 else []
    for limit in limits:
        database.execute(f"ALTER DATABASE {database.name} SET {limit} = '1500ms'")
    backfill(make_relay, pipeline, "--rate", "10")
    assert ids_of(pipeline.wait_for_records(40)) == ids


def test_a_table_that_the_role_may_not_read_is_said_before_the_slot_is_made(
    pipeline: Pipeline, make_relay: MakeRelay
) -> None:
    """The owner of the publication, but not of a partition's rows: the printed grant, and it goes on."""
    without_slot(pipeline)
    ids = insert_rows(pipeline, 2)
    database = pipeline.database
    role = database.create_role("LOGIN REPLICATION")
    database.execute(f"GRANT CREATE ON DATABASE {database.name} TO {role}; ALTER TABLE public.outbox OWNER TO {role}")
    database.execute(f"REVOKE SELECT ON public.outbox FROM {role}")
    dsn = database.dsn(role)
    refused = backfill(make_relay, pipeline, dsn=dsn, code=3)
    assert database.slot_names() == [] and run_rows(pipeline) == []
    database.execute(refused.stderr.split("what to do: ")[1].strip())
    backfill(make_relay, pipeline, dsn=dsn)
    assert ids_of(pipeline.wait_for_records(2)) == ids


def test_a_slot_that_is_there_is_not_backfilled(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    refused = backfill(make_relay, pipeline, code=3)
    assert "is there already" in refused.stderr and "cdc-relay replay -c FILE" in refused.stderr
    assert run_rows(pipeline) == []
    pipeline.start_relay()


def test_a_role_that_cannot_see_whether_a_backfill_is_unfinished_gets_the_grant(
    pipeline: Pipeline, make_relay: MakeRelay
) -> None:
    role = pipeline.database.create_relay_role()
    pipeline.database.execute(f"REVOKE ALL ON cdc_relay.replays FROM {role}")
    dsn = pipeline.database.dsn(role)
    refused = make_relay(pipeline.config(dsn=dsn))
    assert refused.wait() == 3
    pipeline.database.execute(refused.stderr.split("what to do: ")[1].strip())
    pipeline.start_relay(dsn=dsn)
