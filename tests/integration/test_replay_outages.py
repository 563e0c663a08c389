"""A Postgres that goes away under a run: a replay waits for it and goes on, a backfill has lost its snapshot."""

from __future__ import annotations

import pytest

from tests.fixtures.fix_postgres import MakePostgres
from tests.fixtures.fix_relay import MakePipeline, MakeRelay, Pipeline
from tests.fixtures.outbox import insert_events
from tests.fixtures.process import wait_until
from tests.integration.parking_rig import number_of
from tests.integration.replay_rig import backfill, run_rows, start_backfill, start_replay, without_slot

pytestmark = pytest.mark.kafka

COUNT = 6_000  # several pages: not all of it is in memory when Postgres goes


@pytest.fixture
def pipeline(make_postgres: MakePostgres, make_pipeline: MakePipeline) -> Pipeline:
    made = make_pipeline(server=make_postgres())
    with made.database.connect() as conn:
        insert_events(conn, COUNT, made.aggregate_type)
    return made


def restart_under_way(pipeline: Pipeline) -> None:
    wait_until(lambda: len(pipeline.records()) > 30, timeout=60, what="records flow")
    pipeline.database.server.restart()


def test_a_replay_goes_on_after_a_restart_of_postgres(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    running = start_replay(make_relay, pipeline, "--rate", "500")
    restart_under_way(pipeline)
    assert running.wait(120) == 0
    assert [number_of(record) for record in pipeline.records()] == list(range(1, COUNT + 1))
    assert run_rows(pipeline) == [("finished",)]


def test_a_backfill_that_lost_its_snapshot_says_so_and_begins_again(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    without_slot(pipeline)
    running = start_backfill(make_relay, pipeline, "--rate", "500")
    restart_under_way(pipeline)
    assert running.wait(120) == 3
    assert "cdc-relay setup -c FILE --backfill" in running.stderr
    count = len(pipeline.records())
    backfill(make_relay, pipeline)
    assert len(pipeline.records()) == count + COUNT
    assert run_rows(pipeline, "state, attempt") == [("finished", 2)]
