"""A backfill that dies at any step: nothing is lost, nobody reads the slot in between, and it begins again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fixtures.fix_postgres import MakePostgres
from tests.fixtures.fix_relay import MakePipeline, MakeRelay, Pipeline
from tests.fixtures.process import wait_until
from tests.integration.replay_rig import (
    backfill,
    header_of,
    id_of,
    ids_of,
    insert_rows,
    run_rows,
    start_backfill,
    without_slot,
)

pytestmark = pytest.mark.kafka

HEADER = "cdc-relay-backfill"
COMMAND = "cdc-relay setup -c FILE --backfill"
STEPS = {
    "before the slot": "begin.after",
    "after the slot, before its position is known": "note_slot.before",
    "after the slot": "note_slot.after",
    "in the middle": "store.after",
    "after the last row": "finish.before",
}


def refuse_meanwhile(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    pipeline.database.grant_schema(pipeline.role)  # an owner may have done so by now
    for command, config in (("run", pipeline.config()), ("setup", pipeline.as_owner())):
        process = make_relay(config, command=command)
        assert process.wait() == 3
        assert "is not finished" in process.stderr and COMMAND in process.stderr


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS.keys())
def test_a_killed_backfill_begins_again_and_loses_nothing(
    pipeline: Pipeline, make_relay: MakeRelay, tmp_path: Path, step: str
) -> None:
    without_slot(pipeline)
    ids = insert_rows(pipeline, 60)
    trap = tmp_path / "trap"
    trap.touch()
    sabotage = {"SABOTAGE": json.dumps({"step": step, "nth": 1, "trap": str(trap)})}
    killed = start_backfill(make_relay, pipeline, "--rate", "30", env=sabotage)
    assert killed.wait(120) == -9
    ids += insert_rows(pipeline, 5)
    refuse_meanwhile(pipeline, make_relay)
    again = backfill(make_relay, pipeline)
    assert "it begins again" in again.stdout
    ids += insert_rows(pipeline, 5)
    pipeline.start_relay()
    wait_until(lambda: len(set(ids_of(pipeline.records()))) == 70, timeout=60, what="every row has arrived")
    records = pipeline.records()
    assert set(ids_of(records)) == set(ids)
    second = [id_of(record) for record in records if (header_of(record, HEADER) or "").endswith("/2")]
    assert second == ids[:65]
    assert [id_of(record) for record in records if header_of(record, HEADER) is None] == ids[65:]
    assert run_rows(pipeline, "state, attempt") == [("finished", 2)]


def test_a_stopped_backfill_says_so_and_begins_again(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    without_slot(pipeline)
    ids = insert_rows(pipeline, 60)
    running = start_backfill(make_relay, pipeline, "--rate", "10")
    wait_until(lambda: len(pipeline.records()) > 5, timeout=60, what="rows are published")
    assert running.stop() == 1
    assert COMMAND in running.stderr
    refuse_meanwhile(pipeline, make_relay)
    backfill(make_relay, pipeline)
    assert set(ids_of(pipeline.records())) == set(ids)


def test_a_slot_of_somebody_else_is_not_dropped(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    """Made by hand under the same name while the backfill was unfinished: the printed fix, then it goes on."""
    without_slot(pipeline)
    ids = insert_rows(pipeline, 30)
    running = start_backfill(make_relay, pipeline, "--rate", "10")
    wait_until(lambda: len(pipeline.records()) > 2, timeout=60, what="rows are published")
    running.kill()

    def is_recreated() -> bool:
        pipeline.database.execute(f"SELECT pg_drop_replication_slot('{pipeline.slot}')")
        pipeline.insert()
        pipeline.database.execute(f"SELECT pg_create_logical_replication_slot('{pipeline.slot}', 'pgoutput')")
        return True

    is_recreated()
    refused = backfill(make_relay, pipeline, code=3)
    assert "is not the one that the unfinished backfill made" in refused.stderr
    pipeline.database.execute(refused.stderr.split("if nobody does: ")[1].split(";")[0])
    backfill(make_relay, pipeline)
    assert set(ids_of(pipeline.records())) > set(ids)


def test_a_backfill_that_could_not_make_its_slot_claims_no_other(
    make_postgres: MakePostgres, make_pipeline: MakePipeline, make_relay: MakeRelay
) -> None:
    pipeline = without_slot(make_pipeline(server=make_postgres(max_replication_slots=1)))
    database = pipeline.database
    ids = insert_rows(pipeline, 3)
    database.execute("SELECT pg_create_physical_replication_slot('taken')")
    assert "max_replication_slots" in backfill(make_relay, pipeline, code=3).stderr
    assert run_rows(pipeline) == [("abandoned",)]
    database.execute("SELECT pg_drop_replication_slot('taken')")
    database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [pipeline.slot])
    assert "no unfinished backfill made it" in backfill(make_relay, pipeline, code=3).stderr
    assert database.slot_names() == [pipeline.slot]
    database.execute("SELECT pg_drop_replication_slot(%s)", [pipeline.slot])
    backfill(make_relay, pipeline)
    assert ids_of(pipeline.wait_for_records(3)) == ids
