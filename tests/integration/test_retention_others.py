"""Two relays with slots of their own on one table: a row goes only when it is settled for both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.fix_postgres import Database
from tests.integration.retention_rig import Ground


@pytest.fixture
def ground(database: Database, tmp_path: Path) -> Ground:
    """One old row that both have settled, and one that the other has not."""
    ground = Ground(database, tmp_path)
    ground.create_outbox()
    ground.insert(key="both")
    other = Ground(database, tmp_path)
    other.slot = other_slot(ground)
    other.set_up()
    ground.insert(key="ours alone")
    ground.set_up()
    database.execute(
        "UPDATE cdc_relay.guard SET settled_xid = pg_snapshot_xmin(pg_current_snapshot()) WHERE slot = %s",
        [ground.slot],
    )
    return ground


def other_slot(ground: Ground) -> str:
    return f"{ground.database.name}_other"


def test_what_another_slot_has_not_settled_stays(ground: Ground) -> None:
    swept = ground.sweep_outbox()
    assert (swept.removed, swept.trouble) == (1, "")
    assert ground.keys() == {"ours alone": 1}


def test_a_slot_that_reads_other_tables_keeps_nothing(ground: Ground) -> None:
    ground.database.execute(
        "UPDATE cdc_relay.guard SET fingerprint = replace(fingerprint, 'public.outbox', 'public.commands'),"
        " settled_at = now() - interval '8 days' WHERE slot = %s",
        [other_slot(ground)],
    )
    assert ground.sweep_outbox().removed == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("settled_at = now() - interval '8 days'", "and there only what was committed before"),
        ("timeline = timeline + 1", "its relay has not taken over yet"),
        ("system_identifier = 7", "on another server"),
    ],
)
def test_another_slot_in_doubt_keeps_all_until_it_is_forgotten(ground: Ground, change: str, said: str) -> None:
    ground.database.execute(f"UPDATE cdc_relay.guard SET {change} WHERE slot = %s", [other_slot(ground)])
    swept = ground.sweep_outbox()
    assert (swept.removed, swept.trouble.startswith(f"slot {other_slot(ground)} reads the table too")) == (0, True)
    assert said in swept.trouble
    ground.database.execute(swept.remedy.partition("gone for good: ")[2])
    assert ground.sweep_outbox().removed == 2


@pytest.mark.parametrize(
    ("insert", "said"),
    [
        ("replays (id, slot, kind) VALUES ('run1', %s, 'replay')", "replay run1 is not finished"),
        (
            "gaps (slot, problem, from_lsn, to_lsn, from_time, to_time, replay)"
            " VALUES (%s, 'gone', '0/1', '0/2', now(), now(), 'cdc-relay replay -c FILE')",
            "gap 1 was accepted",
        ),
    ],
)
def test_what_another_slot_may_read_from_the_table_keeps_all(ground: Ground, insert: str, said: str) -> None:
    ground.database.execute(f"INSERT INTO cdc_relay.{insert}", [other_slot(ground)])
    swept = ground.sweep_outbox()
    assert (swept.removed, said in swept.trouble) == (0, True)


def test_a_backfill_of_a_slot_that_has_no_guard_yet_keeps_all(ground: Ground) -> None:
    ground.database.execute("DELETE FROM cdc_relay.guard WHERE slot = %s", [other_slot(ground)])
    insert = "INSERT INTO cdc_relay.replays (id, slot, kind, selection) VALUES ('run1', 'new_one', 'backfill', %s)"
    ground.database.execute(insert, ['{"outboxes": ["public.outbox"]}'])
    swept = ground.sweep_outbox()
    assert (swept.removed, "backfill run1 is not finished" in swept.trouble) == (0, True)
    ground.database.execute("""UPDATE cdc_relay.replays SET selection = '{"outboxes": ["public.commands"]}'""")
    assert ground.sweep_outbox().removed == 2
