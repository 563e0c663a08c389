"""Bad starts: slots that the relay must not read."""

from __future__ import annotations

import pytest

from tests.fixtures.fix_postgres import MakePostgres
from tests.fixtures.fix_relay import MakePipeline, MakeRelay, Pipeline
from tests.fixtures.process import wait_until
from tests.integration.bad_start_rig import assert_it_delivers, last_words, start

pytestmark = pytest.mark.kafka


@pytest.mark.core
def test_a_missing_slot_is_refused_and_setup_makes_it(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    pipeline.database.execute("SELECT pg_drop_replication_slot(%s)", [pipeline.slot])
    said = last_words(start(pipeline))
    assert f"there is no replication slot {pipeline.slot}" in said
    assert "what to do: create it: cdc-relay setup -c FILE" in said

    assert make_relay(pipeline.as_owner(), command="setup").wait() == 0
    assert_it_delivers(pipeline)


@pytest.mark.core
def test_a_slot_of_another_plugin_is_refused(pipeline: Pipeline) -> None:
    other = f"{pipeline.slot}_other"
    if pipeline.database.server.version == 15:
        plugin = "test_decoding"
        pipeline.database.execute("SELECT pg_create_logical_replication_slot(%s, 'test_decoding')", [other])
    else:  # the wheels have no second plugin; a physical slot has none at all
        plugin = "none: it is a physical slot"
        pipeline.database.execute("SELECT pg_create_physical_replication_slot(%s)", [other])
    try:
        said = last_words(start(pipeline, source={"slot": other}))
    finally:
        pipeline.database.execute("SELECT pg_drop_replication_slot(%s)", [other])
    assert f"slot {other} has the plugin {plugin}; cdc-relay reads pgoutput" in said
    assert f"what to do: SELECT pg_drop_replication_slot('{other}')" in said


@pytest.mark.core
def test_a_slot_of_another_database_is_refused_with_both_names(make_pipeline: MakePipeline) -> None:
    ours, other = make_pipeline(), make_pipeline()
    said = last_words(start(ours, source={"slot": other.slot}))
    assert f"slot {other.slot} belongs to database {other.database.name}" in said
    assert f"what to do: connect to {other.database.name}" in said


@pytest.mark.core
def test_a_two_phase_slot_is_refused(pipeline: Pipeline) -> None:
    slot = f"{pipeline.slot}_2pc"
    pipeline.database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput', false, true)", [slot])
    said = last_words(start(pipeline, source={"slot": slot}))
    assert f"slot {slot} was made with two_phase; prepared transactions are not supported" in said
    assert f"what to do: SELECT pg_drop_replication_slot('{slot}')" in said


def test_a_temporary_slot_is_refused(pipeline: Pipeline) -> None:
    slot = f"{pipeline.slot}_temporary"
    with pipeline.database.connect() as owner:
        owner.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput', true)", [slot])
        said = last_words(start(pipeline, source={"slot": slot}))
    assert f"slot {slot} is temporary" in said
    assert "cdc-relay setup -c FILE" in said


@pytest.mark.core
def test_a_lost_slot_is_refused_because_events_are_missing(
    make_postgres: MakePostgres, make_pipeline: MakePipeline
) -> None:
    server = make_postgres(max_slot_wal_keep_size="1MB", min_wal_size="32MB", max_wal_size="32MB")
    pipeline = make_pipeline(server=server)
    lost = "SELECT wal_status FROM pg_replication_slots WHERE slot_name = %s"

    def is_lost() -> bool:
        pipeline.database.execute("SELECT pg_switch_wal() FROM txid_current()")
        pipeline.database.execute("CHECKPOINT")
        return pipeline.database.execute(lost, [pipeline.slot]) == [("lost",)]

    wait_until(is_lost, timeout=60, what="the slot is lost")
    said = last_words(start(pipeline))
    assert f"slot {pipeline.slot} is lost: Postgres removed WAL that it needed" in said
    assert f"what to do: SELECT pg_drop_replication_slot('{pipeline.slot}')" in said


@pytest.mark.core
def test_a_slot_in_use_is_refused_with_no_wait_and_names_its_reader(pipeline: Pipeline) -> None:
    pipeline.start_relay()
    [(pid,)] = pipeline.database.execute(
        "SELECT active_pid FROM pg_replication_slots WHERE slot_name = %s", [pipeline.slot]
    )
    said = last_words(start(pipeline, "--no-wait"))
    assert f"slot {pipeline.slot} is in use" in said
    assert f"what to do: see who reads it: SELECT * FROM pg_stat_replication WHERE pid = {pid}" in said
