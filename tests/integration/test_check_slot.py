"""`cdc-relay check` and the slot, its publication and its tables: each fault is planted, named, and gone once fixed."""

from __future__ import annotations

import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from cdc_relay.admin.check import postgres_facts, server_rules
from tests.fixtures.fix_postgres import MakePostgres
from tests.fixtures.fix_relay import MakePipeline, Pipeline
from tests.fixtures.process import wait_until
from tests.integration.check_rig import Check

pytestmark = pytest.mark.kafka


@pytest.fixture
def check(pipeline: Pipeline, tmp_path: Path) -> Check:
    return Check.without_kafka(pipeline, tmp_path)


# --- the slot


@pytest.mark.core
def test_a_missing_slot_is_made_by_the_printed_command(pipeline: Pipeline, check: Check) -> None:
    pipeline.database.execute("SELECT pg_drop_replication_slot(%s)", [pipeline.slot])
    check.repair("postgres.slot", "fail")


@pytest.mark.core
@pytest.mark.parametrize("fault", ["plugin", "two_phase"])
def test_a_slot_of_another_kind_is_replaced_as_printed(pipeline: Pipeline, check: Check, fault: str) -> None:
    pipeline.database.execute("SELECT pg_drop_replication_slot(%s)", [pipeline.slot])
    made = {
        "plugin": "SELECT pg_create_physical_replication_slot(%s)",
        "two_phase": "SELECT pg_create_logical_replication_slot(%s, 'pgoutput', false, true)",
    }
    pipeline.database.execute(made[fault], [pipeline.slot])
    check.repair(f"postgres.slot.{fault}", "fail")
    assert check.is_fine("postgres.slot")


def test_a_slot_of_another_database_fails(make_pipeline: MakePipeline, tmp_path: Path) -> None:
    ours, other = make_pipeline(), make_pipeline()
    check = Check.without_kafka(ours, tmp_path)
    check.config["source"]["slot"] = other.slot
    assert other.database.name in check.bad("postgres.slot.database", "fail")["found"]
    check.config["source"]["slot"] = ours.slot
    assert check.is_fine("postgres.slot.database")


def test_a_temporary_slot_fails(pipeline: Pipeline, check: Check) -> None:
    slot = check.config["source"]["slot"] = f"{pipeline.slot}_temporary"
    with pipeline.database.connect() as owner:
        owner.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput', true)", [slot])
        check.bad("postgres.slot.temporary", "fail")


@pytest.mark.core
def test_wal_running_out_is_warned_of_first_and_a_lost_slot_is_replaced_as_printed(
    make_postgres: MakePostgres, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    server = make_postgres(max_slot_wal_keep_size="32MB", min_wal_size="32MB", max_wal_size="1GB")
    pipeline = make_pipeline(server=server)
    check = Check.without_kafka(pipeline, tmp_path)
    status = "SELECT wal_status FROM pg_replication_slots WHERE slot_name = %s"

    def reaches(wanted: str) -> bool:
        server.execute("SELECT pg_switch_wal() FROM txid_current()")
        if wanted == "lost":
            server.execute("CHECKPOINT")
        return server.execute(status, [pipeline.slot]) == [(wanted,)]

    wait_until(lambda: reaches("unreserved"), timeout=60, what="the slot is unreserved")
    assert "next checkpoint" in check.bad("postgres.slot.wal_status", "warn")["found"]
    lag = check.bad("postgres.slot.lag", "warn")
    assert any(step["text"].startswith("cdc-relay run -c") for step in lag["fix"])
    wait_until(lambda: reaches("lost"), timeout=60, what="the slot is lost")
    check.repair("postgres.slot.wal_status", "fail")


def test_a_slot_that_was_idle_for_too_long_is_lost_with_its_reason_and_replaced_as_printed(
    make_postgres: MakePostgres, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    server = make_postgres()
    if server.version < 18:
        pytest.skip("idle_replication_slot_timeout is of Postgres 18")
    pipeline = make_pipeline(server=server)
    check = Check.without_kafka(pipeline, tmp_path)
    server.configure(idle_replication_slot_timeout="1s")

    def is_lost() -> bool:
        server.execute("CHECKPOINT")
        return not check.is_fine("postgres.slot.wal_status")

    wait_until(is_lost, timeout=60, what="the slot is invalidated")
    assert "(idle_timeout)" in check.bad("postgres.slot.wal_status", "fail")["found"]
    server.configure(idle_replication_slot_timeout="0")
    wait_until(lambda: check.is_fine("postgres.idle_replication_slot_timeout"), timeout=30, what="it is loaded")
    check.repair("postgres.slot.wal_status", "fail")


def test_wal_that_is_kept_is_no_trouble_with_more_room(
    make_postgres: MakePostgres, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    server = make_postgres(max_wal_size="1GB")
    server.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '64MB'")
    server.execute("SELECT pg_reload_conf()")
    check = Check.without_kafka(make_pipeline(server=server), tmp_path)
    for _ in range(3):
        server.execute("SELECT pg_switch_wal() FROM txid_current()")
    lag = check.bad("postgres.slot.lag", "warn")
    for step in lag["fix"]:
        if step["way"] == "sql":
            server.psql("-c", step["text"])
    wait_until(lambda: check.is_fine("postgres.slot.lag"), timeout=30, what="the limit is loaded")


@pytest.mark.core
def test_who_reads_the_slot_is_said(pipeline: Pipeline, check: Check) -> None:
    server = pipeline.database.server
    command = [str(server.bindir / "pg_recvlogical"), "-d", pipeline.database.dsn(), "--slot", pipeline.slot, "--start"]
    command += ["-f", "-", "--no-loop", "-o", "proto_version=1", "-o", f"publication_names={pipeline.publication}"]
    reader = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: not check.is_fine("postgres.slot.reader"), timeout=30, what="it reads")
        assert "pg_recvlogical" in check.repair("postgres.slot.reader", "warn")["found"]
    finally:
        reader.kill()
        reader.wait(30)
    pipeline.start_relay()
    [found] = check.of("postgres.slot.reader")
    assert found["level"] == "ok"
    assert f"cdc-relay:{pipeline.slot}" in found["found"]


# --- publication and tables


@pytest.mark.core
def test_a_missing_publication_is_made_by_the_printed_command(pipeline: Pipeline, check: Check) -> None:
    pipeline.database.execute(f"DROP PUBLICATION {pipeline.publication}")
    check.repair("postgres.publication", "fail")


PUBLICATION_FAULTS = {
    "postgres.publication.inserts": ("fail", "ALTER PUBLICATION {p} SET (publish = 'update')"),
    "postgres.publication.operations": ("warn", "ALTER PUBLICATION {p} SET (publish = 'insert, delete, truncate')"),
    "postgres.table.published": ("fail", "ALTER PUBLICATION {p} DROP TABLE outbox"),
    "postgres.table.row_filter": ("warn", "ALTER PUBLICATION {p} SET TABLE outbox WHERE (type <> 'secret')"),
    "postgres.table.column_list": ("fail", "ALTER PUBLICATION {p} SET TABLE outbox (id, type)"),
    "postgres.table.logged": ("fail", "ALTER PUBLICATION {p} DROP TABLE outbox; ALTER TABLE outbox SET UNLOGGED"),
    "postgres.table.types": ("warn", "ALTER TABLE outbox ALTER COLUMN payload TYPE integer USING 0"),
}


@pytest.mark.core
@pytest.mark.parametrize("name", PUBLICATION_FAULTS)
def test_what_is_wrong_with_publication_and_table_is_repaired_as_printed(
    pipeline: Pipeline, check: Check, name: str
) -> None:
    level, planted = PUBLICATION_FAULTS[name]
    assert check.is_fine(name)
    for statement in planted.format(p=pipeline.publication).split("; "):
        pipeline.database.execute(statement)
    check.repair(name, level)


def test_types_of_all_parts_are_looked_at(pipeline: Pipeline, check: Check) -> None:
    pipeline.database.execute(
        "ALTER TABLE outbox ADD COLUMN due date, ADD COLUMN at time, ADD COLUMN place text, ADD COLUMN heads integer,"
        " ALTER COLUMN aggregateid TYPE jsonb USING to_jsonb(aggregateid)"
    )
    [outbox] = check.config["outboxes"]
    outbox["columns"] |= {"scheduled_at": "due", "timestamp": "at", "partition": "place", "headers": "heads"}
    found = check.of("postgres.table.types")
    assert [each["level"] for each in found] == ["warn"] * 5
    assert {each["found"].split()[1] for each in found} == {"key", "headers", "scheduled_at", "timestamp", "partition"}


def test_a_domain_is_judged_by_what_it_stands_for(pipeline: Pipeline, check: Check) -> None:
    pipeline.database.execute("CREATE DOMAIN document AS jsonb")
    pipeline.database.execute("CREATE DOMAIN event AS document")
    pipeline.database.execute("ALTER TABLE outbox ALTER COLUMN payload TYPE event")
    [found] = check.of("postgres.table.types")
    assert found["level"] == "ok"
    assert "payload jsonb" in found["found"]


def test_a_missing_table_and_a_missing_column_fail(pipeline: Pipeline, check: Check) -> None:
    pipeline.database.execute("ALTER TABLE outbox RENAME COLUMN payload TO body")
    assert "outboxes[0].columns.payload" in check.bad("postgres.table.columns", "fail")["fix"][0]["text"]
    check.config["outboxes"][0]["columns"]["payload"] = "body"
    assert check.is_fine("postgres.table.columns")
    pipeline.database.execute("ALTER TABLE outbox RENAME TO old")
    assert "public.outbox" in check.bad("postgres.table", "fail")["found"]
    check.config["outboxes"][0]["table"] = "old"
    assert check.is_fine("postgres.table")


def test_a_partitioned_table_is_published_under_its_own_name_as_printed(pipeline: Pipeline, check: Check) -> None:
    pipeline.database.execute("ALTER TABLE outbox RENAME TO old")
    pipeline.database.execute("CREATE TABLE outbox (LIKE old) PARTITION BY HASH (id)")
    name = pipeline.publication
    pipeline.database.execute(f"ALTER PUBLICATION {name} SET TABLE outbox")
    pipeline.database.execute(f"ALTER PUBLICATION {name} SET (publish_via_partition_root = false)")
    check.repair("postgres.table.partition_root", "fail")


# --- transactions that hold the slot back


@pytest.fixture
def hasty(check: Check, monkeypatch: pytest.MonkeyPatch) -> Check:
    """What is open at all counts as old: nobody wants to wait for ten minutes."""
    monkeypatch.setattr(server_rules, "OLD_SECONDS", 0.0)
    return check


def test_an_old_transaction_that_writes_is_ended_as_printed(pipeline: Pipeline, hasty: Check) -> None:
    with closing(pipeline.database.connect(autocommit=False, application_name="forgotten")) as reader:
        reader.execute("SELECT count(*) FROM outbox")  # holds nothing back
        assert hasty.is_fine("postgres.long_transactions")
        reader.execute("CREATE TABLE draft ()")
        pipeline.database.execute(f"GRANT pg_read_all_stats TO {pipeline.role}")
        assert "forgotten" in hasty.repair("postgres.long_transactions", "warn")["found"]


def test_a_role_that_may_not_see_transactions_is_told_the_grant(pipeline: Pipeline, hasty: Check) -> None:
    role = pipeline.role
    with pipeline.database.connect(autocommit=False) as writer:
        writer.execute("CREATE TABLE draft ()")
        [found] = hasty.of("postgres.long_transactions")
        assert found["level"] == "ok"
        assert f"GRANT pg_read_all_stats TO {role}" in found["found"]
        pipeline.database.execute(f"GRANT pg_read_all_stats TO {role}")
        hasty.bad("postgres.long_transactions", "warn")


def test_a_prepared_transaction_that_was_forgotten_is_ended_as_printed(
    make_postgres: MakePostgres, make_pipeline: MakePipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_rules, "OLD_SECONDS", 0.0)
    pipeline = make_pipeline(server=make_postgres(max_prepared_transactions=5))
    check = Check.without_kafka(pipeline, tmp_path)
    with pipeline.database.connect(autocommit=False) as conn:
        conn.execute("CREATE TABLE draft ()")
        conn.execute("PREPARE TRANSACTION 'it''s forgotten'")
    assert "'it''s forgotten'" in check.repair("postgres.prepared_transactions", "warn")["found"]


def test_a_clock_that_is_wrong_is_warned_of(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check.is_fine("postgres.clock")
    now = time.time
    monkeypatch.setattr(postgres_facts, "read_clock", lambda: now() - 4000)
    assert "1 h behind" in check.bad("postgres.clock", "warn")["found"]
    monkeypatch.undo()
    assert check.is_fine("postgres.clock")
