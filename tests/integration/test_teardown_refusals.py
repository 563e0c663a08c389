"""What `cdc-relay teardown` refuses; each refusal changes nothing, and what it prints helps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cdc_relay.errors import AwayError
from tests.fixtures.fix_postgres import Database, MakePrimary, PostgresServer
from tests.fixtures.fix_relay import MakeRelay, Pipeline
from tests.fixtures.process import wait_until
from tests.integration.setup_rig import OUTBOX, Setup
from tests.integration.teardown_rig import Ground, park, remember

NOTHING: dict[str, Any] = {"publications": [], "slot": [], "rows": {}}


@pytest.fixture
def ground(database: Database, tmp_path: Path) -> Ground:
    database.execute(OUTBOX.format("public.outbox"))
    return Ground(Setup(database, tmp_path / "relay.yaml"))


# --- who needs it


@pytest.mark.kafka
def test_while_a_relay_reads_the_slot_nothing_goes_until_it_is_stopped(
    pipeline: Pipeline, make_relay: MakeRelay
) -> None:
    relay = pipeline.start_relay()
    config = pipeline.as_owner()
    refused = make_relay(config, "--yes", command="teardown")
    assert refused.wait() == 3
    assert f"slot {pipeline.slot} is being read (Postgres' PID " in refused.stderr
    [question] = re.findall(r"where they run: (SELECT .*)", refused.stderr)
    [(_, name, _, _)] = pipeline.database.execute(question)
    assert name == f"cdc-relay:{pipeline.slot}"

    assert relay.stop() == 0
    assert make_relay(config, "--yes", command="teardown").wait() == 0
    assert pipeline.database.slot_names() == []


@pytest.mark.kafka
def test_a_relay_that_waits_is_noticed_too(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    """For the broker, for example: it would find its slot gone."""
    waiting = f"cdc-relay:{pipeline.slot}:catalog"
    with pipeline.database.connect(pipeline.role, application_name=waiting):
        refused = make_relay(pipeline.as_owner(), "--yes", command="teardown")
        assert refused.wait() == 3
        assert f"a cdc-relay for slot {pipeline.slot} runs, and does not read at this moment" in refused.stderr

    def is_gone() -> bool:
        query = "SELECT 1 FROM pg_stat_activity WHERE application_name = %s"
        return pipeline.database.execute(query, [waiting]) == []

    wait_until(is_gone, timeout=30, what="the session has ended")
    assert make_relay(pipeline.as_owner(), "--yes", command="teardown").wait() == 0


def test_a_slot_of_another_database_is_refused(ground: Ground, postgres: PostgresServer) -> None:
    ground.database.execute("SELECT pg_drop_replication_slot(%s)", [ground.slot])
    postgres.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [ground.slot])
    try:
        assert f"slot {ground.slot} belongs to database postgres" in str(ground.refused())
    finally:
        postgres.execute("SELECT pg_drop_replication_slot(%s)", [ground.slot])
    ground.ok("--yes", "--lot")


def test_a_physical_slot_is_not_ours(ground: Ground) -> None:
    ground.database.execute("SELECT pg_drop_replication_slot(%s)", [ground.slot])
    ground.database.execute("SELECT pg_create_physical_replication_slot(%s)", [ground.slot])
    try:
        assert "it is a physical slot" in str(ground.refused())
    finally:
        ground.database.execute("SELECT pg_drop_replication_slot(%s)", [ground.slot])


@pytest.mark.core
def test_a_slot_of_another_plugin_is_refused_until_the_printed_command_has_dropped_it(ground: Ground) -> None:
    ground.database.execute("SELECT pg_drop_replication_slot(%s)", [ground.slot])
    try:
        ground.database.execute("SELECT pg_create_logical_replication_slot(%s, 'test_decoding')", [ground.slot])
    except psycopg.errors.UndefinedFile:
        pytest.skip("this Postgres has no contrib modules")
    refusal = ground.refused()
    assert "has the plugin test_decoding: cdc-relay did not make it" in refusal.message
    ground.database.execute(refusal.remedy.partition("yourself: ")[2])
    ground.ok("--yes", "--lot")


def test_what_others_built_upon_the_lot_stops_it_and_the_printed_command_removes_both(ground: Ground) -> None:
    ground.database.execute("CREATE VIEW public.report AS SELECT * FROM cdc_relay.parked_records")
    refusal = ground.refused("--lot")
    assert "because other objects depend on" in refusal.message
    [command] = re.findall(r"DROP SCHEMA cdc_relay CASCADE", refusal.remedy)
    ground.database.execute(command)
    ground.ok("--yes", "--lot")
    assert ground.left() == NOTHING


def test_a_table_of_somebody_else_in_the_schema_is_neither_emptied_nor_dropped(ground: Ground) -> None:
    remember(ground.database, ground.slot)
    park(ground.database, ground.slot, "dead")
    ground.database.execute("CREATE TABLE cdc_relay.backup AS SELECT * FROM cdc_relay.parked_records")
    refusal = ground.refused("--lot")  # which also compares the rows of all tables
    assert "cannot drop schema cdc_relay" in refusal.message
    [move] = re.findall(r"ALTER TABLE cdc_relay.NAME SET SCHEMA public", refusal.remedy)
    ground.ok("--yes")  # without the lot: the rows by slot
    assert ground.database.execute("SELECT count(*) FROM cdc_relay.backup") == [(1,)]
    ground.database.execute(move.replace("NAME", "backup"))
    ground.ok("--yes", "--lot")
    assert ground.left() == NOTHING
    assert ground.database.execute("SELECT count(*) FROM public.backup") == [(1,)]


def test_a_standby_is_away(make_primary: MakePrimary, tmp_path: Path) -> None:
    primary = make_primary()
    database = Database(primary)
    database.execute(OUTBOX.format("public.outbox"))
    ground = Ground(Setup(database, tmp_path / "relay.yaml"))
    standby = primary.add_standby()
    ground.setup.dsn = database.dsn(port=standby.port)
    assert "is a standby" in str(ground.refused(kind=AwayError))


# --- who may


@pytest.mark.core
@pytest.mark.parametrize("lot", [(), ("--lot",)], ids=["without the lot", "with the lot"])
def test_each_right_that_is_missing_is_named_by_the_statement_that_helps(ground: Ground, lot: tuple[str, ...]) -> None:
    """Another slot is in the lot, so that rows are removed and not the schema."""
    for slot in (ground.slot, "another"):
        remember(ground.database, slot)
        park(ground.database, slot, "dead")
    role = ground.database.create_role("LOGIN")
    ground.setup.dsn = ground.database.dsn(role)
    helped = []
    while (result := ground("--yes", *lot)).exit_code:
        refusal = ground.refused(*lot)
        assert "nothing was changed" in refusal.message
        statement = re.sub(r'^as "?\w+"?, who owns it: (.*); then run teardown again$', r"\1", refusal.remedy)
        helped.append(statement.split()[0:2])
        ground.database.execute(statement)
        assert len(helped) < 6, result.exception
    assert helped == [["GRANT", "USAGE"], ["GRANT", "SELECT,"], ["DROP", "PUBLICATION"], ["ALTER", "ROLE"]]
    assert ground.left()["slot"] == []


def test_a_schema_of_another_owner_is_dropped_by_the_owner(ground: Ground) -> None:
    role = ground.database.create_role("LOGIN REPLICATION")
    ground.database.grant_schema(role)
    ground.setup.dsn = ground.database.dsn(role)
    refusal = ground.refused("--lot")
    owner, statement = re.findall(r'as "?(\w+)"?, who owns it: (.*); then run teardown again', refusal.remedy)[0]
    with ground.database.connect(owner) as conn:
        conn.execute(statement)
    assert "DROP PUBLICATION" in ground.refused("--lot").remedy
