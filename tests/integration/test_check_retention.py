"""What `check` finds of retention, each with the fix that it prints, carried out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cdc_relay.admin.retention import proof
from cdc_relay.admin.retention.proof import Evidence
from cdc_relay.sources.line import Line
from cdc_relay.sources.preflight import Wanted
from tests.fixtures.fix_postgres import Database
from tests.integration.check_rig import Check
from tests.integration.retention_rig import Ground


@pytest.fixture
def ground(database: Database, tmp_path: Path) -> Ground:
    ground = Ground(database, tmp_path)
    ground.create_outbox()
    ground.set_up()
    return ground


def look(ground: Ground) -> Check:
    return Check(ground.config(), ground.file.parent, ground.database.server)


def test_a_role_that_may_not_remove_is_told_which_rights(ground: Ground) -> None:
    role = ground.database.create_relay_role()
    ground.database.execute(f"REVOKE DELETE ON cdc_relay.parked_records FROM {role}")
    ground.dsn = ground.database.dsn(role)
    check = look(ground)
    check.repair("retention.rights", "warn")
    finding = check.bad("retention.lot", "warn")
    assert finding["fix"][0]["text"] == f"GRANT DELETE ON cdc_relay.parked_records TO {role}"
    check.repair("retention.lot", "warn")


def test_months_are_for_an_owner(database: Database, tmp_path: Path) -> None:
    ground = Ground(database, tmp_path)
    ground.retention = {"partitions": True}
    ground.set_up("--outbox-table", "--partitioned")
    owner = database.create_role()
    database.execute(f"ALTER TABLE outbox OWNER TO {owner}; GRANT CREATE ON SCHEMA public TO {owner}")
    ground.dsn = database.dsn(database.create_relay_role())
    look(ground).repair("retention.rights", "warn")


def test_a_missing_index_is_only_a_warning(ground: Ground) -> None:
    look(ground).repair("retention.index", "warn")


def test_a_missing_time_column_fails_with_file_and_line(database: Database, tmp_path: Path) -> None:
    ground = Ground(database, tmp_path)
    database.execute("CREATE TABLE outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)")
    ground.set_up()
    assert "relay.yaml:" in look(ground).bad("retention.time", "fail")["found"]
    look(ground).repair("retention.time", "fail")


def test_months_of_a_table_that_has_none_are_a_warning(ground: Ground) -> None:
    ground.retention = {"partitions": True}
    assert "has no months" in look(ground).bad("retention.partitions", "warn")["found"]


def test_what_keeps_rows_is_said(ground: Ground) -> None:
    check = look(ground)
    assert check.is_fine("retention")
    ground.database.execute("UPDATE cdc_relay.guard SET settled_at = now() - interval '8 days'")
    assert "no row of public.outbox goes: only what was committed before" in check.bad("retention", "warn")["found"]


def test_a_slot_that_is_about_to_follow_the_guard_is_waited_for(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard is written first, and the slot is confirmed within a second."""
    read, reads = proof.read_evidence, []

    def read_early(line: Line, wanted: Wanted) -> Evidence:
        evidence = read(line, wanted)
        reads.append(evidence)
        assert evidence.facts.slot is not None
        behind = replace(evidence.facts, slot=replace(evidence.facts.slot, confirmed_lsn=1))
        return replace(evidence, facts=behind) if len(reads) == 1 else evidence

    monkeypatch.setattr(proof, "read_evidence", read_early)
    assert look(ground).is_fine("retention")
    assert len(reads) == 2


def test_rows_of_the_users_table_stay_for_ever_by_default(ground: Ground) -> None:
    ground.retention = {}
    assert [each["found"] for each in look(ground).of("retention")] == ["rows of the outbox tables stay for ever"]
