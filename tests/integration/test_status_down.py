"""`cdc-relay status` with the relay down: what Postgres alone can tell of the slot, and the printed fix applied."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from tests.fixtures.fix_postgres import Database, MakePostgres
from tests.fixtures.outbox import create_outbox
from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import RelayProcess, relay_config
from tests.fixtures.scratch import free_port
from tests.integration.status_rig import (
    config_of,
    look,
    look_json,
    prepare,
    run_cdc_relay,
    sections,
    write_config,
)

SLOT = "orders"


@pytest.fixture
def slot(database: Database) -> str:
    """One with an outbox and a lot, that nobody reads."""
    return prepare(database)


@pytest.mark.core
def test_a_slot_that_nobody_reads_is_told_with_the_command_that_starts_the_relay(
    database: Database, slot: str, tmp_path: Path
) -> None:
    config_file = config_of(database, slot, tmp_path)
    database.execute("INSERT INTO public.outbox VALUES (gen_random_uuid(), 'order', 'k', 'T', '{}')")
    seen = look_json(config_file)
    assert (seen["relay"], seen["slot"]["active"], seen["slot"]["reader"]) == (None, False, None)
    assert (seen["guard"], seen["run"], seen["gaps"]) == (None, None, [])
    assert seen["lag"] == {"bytes": seen["slot"]["lag_bytes"], "seconds": None, "at_most": False}
    assert seen["slot"]["lag_bytes"] > 0
    assert seen["verdict"]["text"].startswith("the slot is not read by anybody")
    assert seen["verdict"]["text"].endswith(f"start the relay: cdc-relay run -c {config_file}")
    assert "no answer at http://127.0.0.1:" in look(config_file)


@pytest.mark.kafka
def test_the_printed_command_starts_the_relay_and_all_is_well(
    database: Database, slot: str, tmp_path: Path, kafka: Any
) -> None:
    config_file = config_of(database, slot, tmp_path, sink={"kafka": {"bootstrap.servers": kafka.bootstrap}})
    command = look_json(config_file)["verdict"]["text"].partition("start the relay: ")[2]
    assert command == f"cdc-relay run -c {config_file}"
    relay = RelayProcess(yaml.safe_load(config_file.read_text()), tmp_path / "relay").start()
    try:
        relay.wait_ready()
        assert look_json(config_file)["verdict"] == {"level": "ok", "text": "all is well"}
    finally:
        relay.kill()
    seen = look_json(config_file)
    assert (seen["run"]["ended"], "the last one died" in seen["verdict"]["text"]) == (False, True)


GUARD = """
INSERT INTO cdc_relay.guard
SELECT %s, 1, 1, 'f', lsn, now(), lsn, now() - interval '2 min', lsn, pg_current_xact_id(), now() - interval '5 min', 0,
       lsn, pg_current_xact_id(), now(), 0
  FROM pg_current_wal_lsn() AS lsn
"""
GAP = """
INSERT INTO cdc_relay.gaps (slot, problem, from_lsn, to_lsn, from_time, to_time, row_estimate, replay)
VALUES (%s, 'the slot was recreated', '0/A0', '0/B0', now(), now(), 12, 'cdc-relay replay -c FILE')
"""


@pytest.mark.core
def test_the_guard_bounds_the_lag_and_accepted_gaps_are_shown(database: Database, slot: str, tmp_path: Path) -> None:
    config_file = config_of(database, slot, tmp_path, user=relay_role(database))
    database.execute(GUARD, [slot])
    database.execute(GAP, [slot])
    seen = look_json(config_file)
    assert seen["lag"]["at_most"] is True
    assert 300 <= seen["lag"]["seconds"] < 600
    assert 120 <= seen["guard"]["raised_seconds"] < 420
    assert [(gap["problem"], gap["row_estimate"]) for gap in seen["gaps"]] == [("the slot was recreated", 12)]
    text = look(config_file)
    assert "at most 5 min" in text
    assert "last guard write 2 min ago" in text
    assert "closed by: cdc-relay replay -c FILE" in text


def relay_role(database: Database) -> str:
    role = database.create_role("LOGIN REPLICATION")
    database.execute(f"GRANT USAGE ON SCHEMA cdc_relay TO {role}")
    database.execute(f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA cdc_relay TO {role}")
    return role


def test_a_reader_that_is_no_relay_is_named(database: Database, slot: str, tmp_path: Path) -> None:
    config_file = config_of(database, slot, tmp_path)
    with reading(database, slot, "intruder"):
        wait_until(lambda: look_json(config_file)["slot"]["active"], timeout=60, what="the slot is read")
        seen = look_json(config_file)
    assert (seen["slot"]["reader"]["application_name"], seen["slot"]["reader"]["pid"] > 0) == ("intruder", True)
    assert "the slot is read, but no answer at" in seen["verdict"]["text"]


@contextmanager
def reading(database: Database, slot: str, name: str) -> Iterator[None]:
    """Somebody who reads the slot and confirms nothing."""
    params = {"replication": "database", "application_name": name, "options": "-c wal_sender_timeout=0"}
    with closing(psycopg.connect(database.dsn(**params), autocommit=True)) as line:
        options = f"(proto_version '1', publication_names '{slot}')"
        line.pgconn.send_query(f"START_REPLICATION SLOT {slot} LOGICAL 0/0 {options}".encode())
        yield


# --- the slot


@pytest.mark.core
def test_a_missing_slot_is_made_by_the_printed_command(database: Database, tmp_path: Path) -> None:
    slot = f"status_{database.name}"
    with database.connect() as conn:
        create_outbox(conn)
    config_file = config_of(database, slot, tmp_path)
    seen = look_json(config_file)
    assert (seen["slot"], seen["verdict"]["level"]) == (None, "act")
    assert f"slot {slot} does not exist" in seen["verdict"]["text"]
    assert "does not exist" in look(config_file)
    run_cdc_relay(seen["verdict"]["text"].rpartition("make it: ")[2])
    seen = look_json(config_file)
    assert (seen["slot"]["active"], sections(seen)) == (False, ["relay"])


@pytest.mark.core
def test_a_lost_slot_says_why_and_the_printed_fix_makes_a_new_one(make_postgres: MakePostgres, tmp_path: Path) -> None:
    database = Database(make_postgres(max_slot_wal_keep_size="1MB", min_wal_size="32MB", max_wal_size="32MB"))
    slot = prepare(database)
    config_file = config_of(database, slot, tmp_path)

    def is_lost() -> bool:
        database.execute("SELECT pg_switch_wal() FROM txid_current()")
        database.execute("CHECKPOINT")
        return bool(look_json(config_file)["slot"]["wal_status"] == "lost")

    wait_until(is_lost, timeout=90, what="the slot is lost")
    seen = look_json(config_file)
    assert seen["verdict"]["text"].startswith(f"slot {slot} is lost (")
    assert "headroom none: the slot is lost" in look(config_file)
    drop, setup = re.findall(r"(SELECT \S+|cdc-relay setup .*)", seen["verdict"]["text"])
    database.execute(drop.rstrip(";"))
    run_cdc_relay(setup)
    seen = look_json(config_file)
    assert seen["verdict"]["text"].startswith("the slot is not read by anybody")
    assert seen["slot"]["wal_status"] != "lost"


def test_a_slot_that_is_about_to_be_lost_gets_room_by_the_printed_statement(
    make_postgres: MakePostgres, tmp_path: Path
) -> None:
    database = Database(make_postgres(max_slot_wal_keep_size="64MB"))
    slot = prepare(database)
    config_file = config_of(database, slot, tmp_path)
    with reading(database, slot, "intruder"):

        def is_scarce() -> bool:
            database.execute("SELECT pg_switch_wal() FROM txid_current()")
            return "is lost after" in look_json(config_file)["verdict"]["text"]

        wait_until(is_scarce, timeout=90, what="little room is left")
        text = look_json(config_file)["verdict"]["text"]
        for statement in text.partition("give it room: ")[2].split("; "):
            database.execute(statement)
        wait_until(
            lambda: look_json(config_file)["postgres"]["keep_limit_bytes"] >= 128 << 20,
            timeout=60,
            what="the setting is in effect",
        )
        assert "is lost after" not in look_json(config_file)["verdict"]["text"]


def test_the_slot_of_another_database_is_noticed(database: Database, slot: str, tmp_path: Path) -> None:
    other = Database(database.server)
    try:
        prepare(other)
        seen = look_json(config_of(other, slot, tmp_path))
    finally:
        other.drop()
    assert seen["slot"]["is_here"] is False
    assert f"belongs to database {database.name}: correct source.dsn" in seen["verdict"]["text"]


# --- Postgres away


@pytest.mark.kafka
def test_a_postgres_that_is_away_is_said_beside_what_the_relay_says(
    make_postgres: MakePostgres, make_pipeline: Any
) -> None:
    server = make_postgres()
    pipeline = make_pipeline(server=server)
    relay = pipeline.start_relay()
    server.stop()
    relay.wait_for_log('"state": "waiting"')
    seen = look_json(relay.config_file, exit_code=3)
    assert (seen["postgres"], seen["slot"], seen["parked"]) == (None, None, None)
    assert seen["relay"]["state"] == "waiting"
    assert seen["verdict"]["text"].startswith("Postgres could not be asked: Postgres is not reachable")
    text = look(relay.config_file, exit_code=3)
    assert "relay     waiting for" in text
    assert "errors    20" in text


def test_neither_postgres_nor_relay_is_no_traceback(tmp_path: Path) -> None:
    nowhere = free_port()
    config = relay_config(
        f"postgresql://relay@127.0.0.1:{nowhere}/x", SLOT, SLOT, "public.outbox", f"127.0.0.1:{nowhere}"
    )
    assert "Postgres could not be asked" in look(write_config(config, tmp_path), exit_code=3)


def test_a_file_that_is_wrong_is_2(tmp_path: Path) -> None:
    look(tmp_path / "nothing.yaml", exit_code=2)
