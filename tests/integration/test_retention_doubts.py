"""What keeps every row of an outbox table: doubt about what is settled, and what an operator has to repair."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.fix_postgres import Database
from tests.integration.retention_rig import Ground
from tests.integration.setup_rig import ROOT

pytestmark = pytest.mark.core


@pytest.fixture
def ground(database: Database, tmp_path: Path) -> Ground:
    """Three old rows, settled."""
    ground = Ground(database, tmp_path)
    ground.create_outbox()
    ground.insert(3)
    ground.set_up()
    return ground


def test_a_lag_as_long_as_the_time_to_stay_keeps_all(ground: Ground) -> None:
    ground.database.execute("UPDATE cdc_relay.guard SET settled_at = now() - interval '7 days'")
    swept = ground.sweep_outbox()
    assert swept.removed == 0
    assert "longer ago than rows are kept (7d)" in swept.trouble
    assert ground.keys()["old"] == 3


def test_an_accepted_gap_keeps_all_until_somebody_says_that_it_is_closed(ground: Ground) -> None:
    """Its rows are before the mark, and the slot will never have them."""
    ground.database.execute(
        "INSERT INTO cdc_relay.gaps (slot, problem, from_lsn, to_lsn, from_time, to_time, replay)"
        " VALUES (%s, 'gone', '0/1', '0/2', now(), now(), 'cdc-relay replay -c FILE')",
        [ground.slot],
    )
    swept = ground.sweep_outbox()
    assert (swept.removed, ground.keys()["old"]) == (0, 3)
    assert "gap 1 was accepted" in swept.trouble
    ground.database.execute(swept.remedy.partition("then say so: ")[2])
    assert ground.sweep_outbox().removed == 3


@pytest.mark.parametrize("kind", ["replay", "backfill"])
def test_a_run_that_reads_the_table_keeps_all(ground: Ground, kind: str) -> None:
    ground.database.execute(
        "INSERT INTO cdc_relay.replays (id, slot, kind) VALUES ('run1', %s, %s)", [ground.slot, kind]
    )
    swept = ground.sweep_outbox()
    assert (swept.removed, ground.keys()["old"]) == (0, 3)
    assert f"{kind} run1 is not finished" in swept.trouble
    ground.database.execute(swept.remedy.partition("give it up: ")[2])
    assert ground.sweep_outbox().removed == 3


def spoil_slot(ground: Ground) -> None:
    ground.database.execute("SELECT pg_drop_replication_slot(%s)", [ground.slot])


def spoil_publication(ground: Ground) -> None:
    ground.database.execute("ALTER PUBLICATION orders_outbox SET TABLE outbox WHERE (aggregatetype = 'x')")


def spoil_guard(ground: Ground) -> None:
    ground.database.execute("DELETE FROM cdc_relay.guard")


def spoil_timeline(ground: Ground) -> None:
    ground.database.execute("UPDATE cdc_relay.guard SET timeline = timeline + 1")


def spoil_confirmation(ground: Ground) -> None:
    ground.database.execute("UPDATE cdc_relay.guard SET settled_lsn = 'FF/0', ceiling = 'FF/0'")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (spoil_slot, "is gone"),
        (spoil_publication, "is not as it was"),
        (spoil_guard, "nobody knows what is settled"),
        (spoil_timeline, "has not taken over"),
        (spoil_confirmation, "the guard's mark is at FF/0"),
    ],
)
def test_a_slot_that_is_not_as_the_relay_left_it_keeps_all(
    ground: Ground, spoil: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cdc_relay.admin.retention.proof._PATIENCE_SECONDS", 0.1)
    spoil(ground)
    swept = ground.sweep_outbox()
    assert swept.removed == 0
    assert said in swept.trouble
    assert ground.keys()["old"] == 3


def test_a_table_that_the_relay_has_not_read_yet_keeps_all(ground: Ground) -> None:
    ground.create_outbox(table="public.commands")
    ground.insert(table="public.commands")
    ground.outboxes.append({"table": "public.commands"})
    ground.set_up()
    swept = ground.sweep()
    assert swept["public.commands"].trouble == "the relay has not read this table yet"
    assert (ground.keys("public.commands"), swept["public.outbox"].removed) == ({"old": 1}, 3)


# --- what an operator has to repair


def test_a_schema_of_an_older_version_keeps_all_until_setup_was_run(ground: Ground) -> None:
    ground.database.execute("ALTER TABLE cdc_relay.gaps DROP closed_at")
    ground.database.execute("DELETE FROM cdc_relay.schema_version WHERE version = 8")
    assert {swept.remedy for swept in ground.sweep().values()} == {"cdc-relay setup -c FILE"}
    assert ground.keys()["old"] == 3
    ground.set_up()
    assert ground.sweep_outbox().removed == 3


def test_the_relays_role_needs_the_rights_that_are_named_and_documented(ground: Ground) -> None:
    ground.database.execute("REVOKE USAGE ON SCHEMA public FROM PUBLIC")
    role = ground.database.create_relay_role()
    ground.dsn = ground.database.dsn(role)
    swept = ground.sweep_outbox()
    assert (swept.removed, "may not remove rows" in swept.trouble) == (0, True)
    assert swept.remedy.split("; ") == documented_grants(role)
    for grant in swept.remedy.split("; "):
        ground.database.execute(grant)
    assert ground.sweep_outbox().removed == 3


def documented_grants(role: str) -> list[str]:
    text = (ROOT / "docs" / "privileges.md").read_text(encoding="utf-8").partition("\n## retention\n")[2]
    block = text.partition("```sql\n")[2].partition("```")[0]
    return [line.removesuffix(";").replace("relay", role) for line in block.strip().splitlines()]


def test_a_locked_table_is_left_for_the_next_time(ground: Ground) -> None:
    with ground.database.connect(autocommit=False) as other:
        other.execute("LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE")
        swept = ground.sweep()
    assert "lock timeout" in swept["public.outbox"].trouble
    assert swept["cdc_relay.parked_records"].trouble == ""
    assert ground.sweep_outbox().removed == 3


@pytest.mark.parametrize(
    ("columns", "key", "said"),
    [
        ({}, "retention:", "has no column created_at"),
        ({"timestamp": "occurred"}, "timestamp:", "column occurred is of type bigint"),
    ],
)
def test_a_time_column_that_is_none_is_named_with_its_line(
    database: Database, tmp_path: Path, columns: dict[str, str], key: str, said: str
) -> None:
    database.execute(
        "CREATE TABLE outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb, occurred bigint)"
    )
    ground = Ground(database, tmp_path)
    ground.outboxes = [{"table": "public.outbox", "columns": {"id": "id", **columns}}]
    ground.set_up()
    swept = ground.sweep_outbox()
    lines = ground.file.read_text().splitlines()
    [number] = [number for number, line in enumerate(lines, 1) if line.strip().startswith(key)]
    assert f"relay.yaml:{number}: " in swept.trouble
    assert said in swept.trouble
