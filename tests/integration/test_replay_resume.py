"""A run that ends before its end goes on where it was: no row is lost, few come twice, none is parked twice."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.fixtures.fix_relay import MakeRelay, Pipeline
from tests.fixtures.outbox import insert_events
from tests.fixtures.parked import parked
from tests.fixtures.process import wait_until
from tests.integration.parking_rig import number_of
from tests.integration.replay_rig import marks, replay, run_rows, start_replay, summary

pytestmark = pytest.mark.kafka

COUNT = 3_000
WINDOW = 200
BATCH = 200  # rows that the position moves by


def insert_numbered(pipeline: Pipeline, count: int = COUNT) -> None:
    with pipeline.database.connect() as conn:
        insert_events(conn, count, pipeline.aggregate_type)


def wait_for_progress(pipeline: Pipeline, least: int) -> None:
    def has_come_so_far() -> bool:
        return any(read >= least for (read,) in run_rows(pipeline, "read_count"))

    wait_until(has_come_so_far, timeout=60, what=f"{least} rows are settled and written down")


def test_a_killed_run_is_resumed_without_a_loss(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    insert_numbered(pipeline)
    window = {"window": {"records": WINDOW}}
    first = start_replay(make_relay, pipeline, "--rate", "500", delivery=window)
    wait_for_progress(pipeline, 500)
    first.kill()
    [(position_read, run)] = run_rows(pipeline, "read_count, id")
    done = summary(replay(make_relay, pipeline, "--resume", delivery=window))
    records = pipeline.records()
    times = Counter(number_of(record) for record in records)
    assert set(times) == set(range(1, COUNT + 1))
    twice = [number for number, count in times.items() if count > 1]
    assert len(twice) <= 2 * (WINDOW + BATCH) + 500  # a second's worth may be settled and not yet written down
    assert all(number > position_read for number in twice)
    assert done["run"] == run and done["finished"] is True
    assert marks(records) == {run}
    assert run_rows(pipeline, "state, attempt") == [("finished", 2)]


@pytest.mark.core
def test_a_stopped_run_says_how_to_go_on_and_goes_on_exactly_there(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    insert_numbered(pipeline)
    first = start_replay(make_relay, pipeline, "--rate", "500")
    wait_for_progress(pipeline, 300)
    assert first.stop() == 1
    assert "cdc-relay replay -c FILE --resume" in first.stderr
    hinted = replay(make_relay, pipeline, "--where", "false")
    assert "--resume would go on with it" in hinted.stderr
    done = summary(replay(make_relay, pipeline, "--resume"))
    numbers = [number_of(record) for record in pipeline.records()]
    assert sorted(numbers) == list(range(1, COUNT + 1))
    assert (done["read"], done["published"]) == (COUNT, COUNT)
    assert "no unfinished run" in replay(make_relay, pipeline, "--resume", code=3).stderr


def test_a_table_that_was_rewritten_is_read_again_from_its_first_row(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    insert_numbered(pipeline)
    first = start_replay(make_relay, pipeline, "--rate", "500")
    wait_for_progress(pipeline, 500)
    assert first.stop() == 1
    pipeline.database.execute("DELETE FROM public.outbox WHERE (payload ->> 'n')::int <= 100")
    pipeline.database.execute("VACUUM FULL public.outbox")
    resumed = replay(make_relay, pipeline, "--resume")
    assert "was rewritten" in resumed.stderr
    times = Counter(number_of(record) for record in pipeline.records())
    assert set(times) == set(range(1, COUNT + 1))
    assert times[101] == 2 and times[1] == 1


def test_a_table_that_is_rewritten_under_a_run_loses_nothing(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    """So many rows that some pages are read before it and some after."""
    insert_numbered(pipeline, 9_000)
    pipeline.database.execute("DELETE FROM public.outbox WHERE (payload ->> 'n')::int <= 1000")
    running = start_replay(make_relay, pipeline, "--rate", "1000")
    wait_for_progress(pipeline, 200)
    pipeline.database.execute("VACUUM FULL public.outbox")
    assert running.wait(120) == 0
    assert "was rewritten" in running.stderr
    assert {number_of(record) for record in pipeline.records()} == set(range(1001, 9001))


def test_one_process_works_on_a_run(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    insert_numbered(pipeline)
    running = start_replay(make_relay, pipeline, "--rate", "100")
    wait_for_progress(pipeline, 1)
    assert "is being worked on by another process" in replay(make_relay, pipeline, "--resume", code=3).stderr
    assert running.stop() == 1


def test_no_row_is_parked_twice_whatever_its_id(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    """Ids that are NULL or repeat: each row is in the lot once after any number of kills."""
    database = pipeline.database
    database.execute("ALTER TABLE public.outbox DROP CONSTRAINT outbox_pkey")
    database.execute("ALTER TABLE public.outbox ALTER COLUMN id DROP NOT NULL")
    insert_numbered(pipeline, 400)
    database.execute("UPDATE public.outbox SET id = NULL WHERE (payload ->> 'n')::int % 3 = 0")
    database.execute(
        "UPDATE public.outbox SET id = '00000000-0000-0000-0000-000000000000' WHERE (payload ->> 'n')::int % 3 = 1"
    )
    routes = [{"when": {"aggregatetype": "nothing"}, "topic": pipeline.topic}]
    outboxes = [{"table": "public.outbox", "routes": routes}]
    first = start_replay(make_relay, pipeline, "--rate", "200", outboxes=outboxes)
    wait_until(lambda: len(parked(database)) > 100, timeout=60, what="rows are parked")
    first.kill()
    replay(make_relay, pipeline, "--resume", outboxes=outboxes)
    rows = parked(database, "value, run, commit_lsn::text, strict")
    assert sorted(json.loads(bytes(value))["n"] for value, *_ in rows) == list(range(1, 401))
    assert {tuple(rest) for _, *rest in rows} == {(run_rows(pipeline, "id")[0][0], "0/0", False)}


def test_a_partition_that_is_dropped_under_a_run_is_left_out(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    database = pipeline.database
    database.execute("DROP TABLE public.outbox")
    database.execute(
        "CREATE TABLE public.outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)"
        " PARTITION BY LIST (aggregateid)"
    )
    for number in range(3):
        database.execute(f"CREATE TABLE public.part{number} PARTITION OF public.outbox FOR VALUES IN ('k{number}')")
    with database.connect() as conn:
        insert_events(conn, COUNT, pipeline.aggregate_type, key_count=3)
    running = start_replay(make_relay, pipeline, "--rate", "300")
    wait_for_progress(pipeline, 200)
    database.execute("DROP TABLE public.part2")
    assert running.wait(120) == 0
    assert "a partition is gone" in running.stderr
    numbers = sorted(number_of(record) for record in pipeline.records())
    assert numbers == [number for number in range(1, COUNT + 1) if number % 3 != 2]
