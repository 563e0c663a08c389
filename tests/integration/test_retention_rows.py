"""Rows of the outbox tables: which go, and which stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdc_relay.admin.retention import rows
from cdc_relay.admin.retention.text import lines
from tests.fixtures.fix_postgres import Database
from tests.integration.retention_rig import Ground

pytestmark = pytest.mark.core


@pytest.fixture
def ground(database: Database, tmp_path: Path) -> Ground:
    """Three old rows and a young one, all settled, and an old one that is not."""
    ground = Ground(database, tmp_path)
    ground.create_outbox()
    ground.insert(3)
    ground.insert(days_ago=6.9, key="young")
    ground.set_up()
    ground.insert(key="unsettled")
    return ground


def test_old_rows_go_and_young_and_unsettled_ones_stay(ground: Ground) -> None:
    swept = ground.sweep_outbox()
    assert (swept.removed, swept.trouble) == (3, "")
    assert ground.keys() == {"unsettled": 1, "young": 1}


def test_nothing_goes_from_the_users_table_by_default(ground: Ground) -> None:
    ground.retention = {}
    assert "public.outbox" not in ground.sweep()
    assert ground.keys() == {"old": 3, "unsettled": 1, "young": 1}


def test_a_table_may_have_a_time_of_its_own(database: Database, tmp_path: Path) -> None:
    ground = Ground(database, tmp_path)
    for table in ("public.outbox", "public.commands"):
        ground.create_outbox(table=table)
        ground.insert(table=table)
    ground.outboxes = [{"table": "public.outbox", "retention": "off"}, {"table": "public.commands"}]
    ground.set_up()
    assert list(ground.sweep()) == ["cdc_relay.parked_records", "public.commands"]
    assert (ground.keys(), ground.keys("public.commands")) == ({"old": 1}, {})


def test_rows_go_in_small_batches(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "BATCH_ROWS", 2)
    assert ground.sweep_outbox().removed == 3


def test_a_dry_run_counts_and_removes_nothing(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ground.sweep_outbox(dry_run=True).removed == 3
    monkeypatch.setattr(rows, "COUNT_LIMIT", 2)
    swept = ground.sweep_outbox(dry_run=True)
    assert next(lines(swept, dry_run=True)) == "public.outbox: more than 2 rows would be removed"
    monkeypatch.setattr(rows, "COUNT_LIMIT", 3)
    assert next(lines(ground.sweep_outbox(dry_run=True), dry_run=True)) == "public.outbox: 3 rows would be removed"
    assert ground.keys()["old"] == 3


def test_rows_of_any_partition_go_through_the_table_itself(database: Database, tmp_path: Path) -> None:
    ground = Ground(database, tmp_path)
    ground.create_outbox(by="PARTITION BY HASH (aggregateid)")
    for number in range(3):
        database.execute(
            f"CREATE TABLE part{number} PARTITION OF outbox FOR VALUES WITH (MODULUS 3, REMAINDER {number})"
        )
    for key in "abcdefgh":
        ground.insert(2, key=key)
        ground.insert(days_ago=1, key=key)
    ground.set_up()
    role = database.create_relay_role()
    database.execute(f"GRANT SELECT, DELETE ON outbox TO {role}")
    ground.dsn = database.dsn(role)
    assert ground.sweep_outbox().removed == 16
    assert set(ground.keys().values()) == {1}


def test_a_timestamp_without_zone_is_in_utc(database: Database, tmp_path: Path) -> None:
    """The session's zone must not count, nor the database's: at 167.5 hours a row stays, at 168.5 it goes."""
    database.execute(f"ALTER DATABASE {database.name} SET timezone = 'Pacific/Kiritimati'")  # 14 hours ahead
    ground = Ground(database, tmp_path)
    ground.create_outbox(time_type="timestamp")
    insert = (
        "INSERT INTO outbox (aggregateid, created_at) VALUES (%s, (now() AT TIME ZONE 'UTC') - %s * interval '1 h')"
    )
    database.execute(insert, ["young", 167.5])
    database.execute(insert, ["old", 168.5])
    ground.set_up()
    assert ground.sweep_outbox().removed == 1
    assert ground.keys() == {"young": 1}


def test_a_row_without_a_time_stays(ground: Ground) -> None:
    ground.database.execute("ALTER TABLE outbox ALTER created_at DROP NOT NULL")
    ground.database.execute("SELECT pg_drop_replication_slot(%s)", [ground.slot])
    ground.database.execute("DELETE FROM cdc_relay.guard")
    ground.database.execute("INSERT INTO outbox (aggregateid, created_at) VALUES ('timeless', NULL)")
    ground.set_up()
    assert ground.sweep_outbox().removed == 4
    assert ground.keys() == {"timeless": 1, "young": 1}
