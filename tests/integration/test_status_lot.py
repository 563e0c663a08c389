"""`cdc-relay status` and the lot: what is parked, and tables that are elsewhere, missing or closed to the role."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.dlq_lot import Lot
from tests.fixtures.fix_postgres import Database
from tests.integration.status_rig import config_of, look, look_json, prepare, run_cdc_relay, sections


@pytest.fixture
def slot(database: Database) -> str:
    """One with an outbox and a lot, that nobody reads."""
    return prepare(database)


@pytest.mark.core
def test_parked_records_are_counted_by_status_with_the_oldest(database: Database, tmp_path: Path) -> None:
    lot = Lot(database, tmp_path)
    for status in ("dead", "dead", "retrying", "behind", "scheduled", "published"):
        lot.park(status, last_error_at="2026-01-31 08:00:00+00", error_code="no_route", last_error="no route takes it")
    lot.park("dead", slot="elsewhere")
    database.execute("UPDATE cdc_relay.parked_records SET parked_at = now() - interval '3 h' WHERE id = 1")
    seen = look_json(lot.config())
    assert {one["status"]: one["records"] for one in seen["parked"]} == {
        "retrying": 1,
        "behind": 1,
        "scheduled": 1,
        "dead": 2,
    }
    assert max(one["oldest_seconds"] for one in seen["parked"]) >= 3 * 3600
    assert [error["code"] for error in seen["dead_errors"]] == ["no_route"] * 2
    text = look(lot.config())
    assert "dead 2 (40 B, oldest 3 h)" in text
    assert f"cdc-relay dlq list -c {lot.config()} --status dead" in text
    assert "a record for topic orders.events.v1 is dead: no_route: no route takes it" in text


def test_a_lot_in_another_database_is_read_there(database: Database, slot: str, tmp_path: Path) -> None:
    database.execute("DROP TABLE cdc_relay.parked_records CASCADE")
    elsewhere = Database(database.server)
    try:
        lot = Lot(elsewhere, tmp_path)
        lot.park("dead", slot=slot)
        config_file = config_of(database, slot, tmp_path, parking={"dsn": elsewhere.dsn()})
        seen = look_json(config_file)
        assert [one["records"] for one in seen["parked"] if one["status"] == "dead"] == [1]
        assert sections(seen) == ["relay"]
    finally:
        elsewhere.drop()
    seen = look_json(config_file)
    assert (seen["parked"], seen["run"], sections(seen)) == (None, None, ["relay", "parked"])
    assert seen["slot"] is not None
    assert "parking.dsn" in seen["troubles"][1]["remedy"]


@pytest.mark.core
def test_a_role_that_may_not_read_the_tables_is_told_the_grant_and_sees_the_slot(
    database: Database, slot: str, tmp_path: Path
) -> None:
    role = database.create_role("LOGIN")
    config_file = config_of(database, slot, tmp_path, user=role)
    seen = look_json(config_file)
    assert seen["slot"]["confirmed_lsn"]
    assert sections(seen) == ["relay", "guard", "gaps", "backfill", "parked", "waiting_topics", "dead_errors", "run"]
    grants = {trouble["remedy"].partition("as an owner: ")[2] for trouble in seen["troubles"][1:]}
    [grant] = grants
    assert grant in look(config_file)
    for statement in grant.split("; "):
        database.execute(statement)
    assert sections(look_json(config_file)) == ["relay"]


@pytest.mark.core
def test_a_database_without_the_schema_is_told_to_set_it_up(database: Database, slot: str, tmp_path: Path) -> None:
    database.execute("DROP SCHEMA cdc_relay CASCADE")
    config_file = config_of(database, slot, tmp_path)
    seen = look_json(config_file)
    assert (seen["parked"], seen["guard"]) == (None, None)
    [remedy] = {trouble["remedy"] for trouble in seen["troubles"][1:]}
    run_cdc_relay(remedy.partition("make the tables: ")[2])
    assert sections(look_json(config_file)) == ["relay"]
