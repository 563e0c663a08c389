"""Records of the lot that are done with: which go after their time, and which never."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdc_relay.admin.retention import lot
from cdc_relay.admin.retention.swept import LOT, Swept
from tests.fixtures.fix_postgres import Database, PostgresServer
from tests.integration.retention_rig import Ground

PARK = """
INSERT INTO cdc_relay.parked_records (slot, status, reason, outbox, commit_lsn, ordinal, commit_time, xid, route,
    record_time, strict, hold_dead, size_bytes, max_attempts, event_id, parked_at, published_at, run, run_row, edits)
VALUES (%(slot)s, %(status)s, 'failure', 'public.outbox', %(lsn)s, nextval('ordinals'), now(), 7, 'r', now(), false,
    false, 1, 1, %(name)s, now() - %(days)s * interval '1 day', now() - %(published)s * interval '1 day', %(run)s,
    CASE WHEN %(run)s::text IS NOT NULL THEN convert_to(%(name)s, 'UTF8') END,
    CASE WHEN %(edited)s::float8 IS NULL THEN '[]'
         ELSE jsonb_build_array(jsonb_build_object('at', now() - %(edited)s * interval '1 day')) END)
"""
DONE = ["published", "discarded", "cancelled"]


@pytest.fixture
def ground(database: Database, tmp_path: Path) -> Ground:
    ground = Ground(database, tmp_path)
    ground.retention = {}
    ground.create_outbox()
    ground.set_up()
    database.execute("CREATE SEQUENCE ordinals")
    return ground


def park(ground: Ground, name: str, *, status: str = "published", days: float = 31, **more: object) -> None:
    given = {"slot": ground.slot, "lsn": "0/1", "published": None, "run": None, "edited": None} | more
    ground.database.execute(PARK, {"name": name, "status": status, "days": days} | given)  # type: ignore[arg-type]  # named parameters


def left(ground: Ground) -> list[str]:
    return [
        str(name) for (name,) in ground.database.execute("SELECT event_id FROM cdc_relay.parked_records ORDER BY 1")
    ]


def sweep(ground: Ground, *, dry_run: bool = False) -> Swept:
    return ground.sweep(dry_run=dry_run)[LOT]


@pytest.mark.core
def test_what_is_done_with_goes_after_thirty_days_by_default(ground: Ground) -> None:
    for status in DONE:
        park(ground, f"old {status}", status=status)
        park(ground, f"young {status}", status=status, days=29)
    assert sweep(ground, dry_run=True).removed == 3
    assert sweep(ground).removed == 3
    assert left(ground) == sorted(f"young {status}" for status in DONE)


def test_what_waits_or_is_dead_stays_for_ever(ground: Ground) -> None:
    waiting = ["retrying", "behind", "scheduled", "dead"]
    for status in waiting:
        park(ground, status, status=status, days=3000)
    assert sweep(ground).removed == 0
    assert left(ground) == sorted(waiting)


def test_the_time_begins_when_it_is_done_with(ground: Ground) -> None:
    """A record that was scheduled a year ago and published today, and one that somebody discarded today."""
    park(ground, "published today", days=365, published=0)
    park(ground, "discarded today", days=365, status="discarded", edited=0)
    park(ground, "discarded long ago", days=365, status="discarded", edited=33)
    assert sweep(ground).removed == 1
    assert left(ground) == ["discarded today", "published today"]


def test_what_the_slot_has_not_passed_stays(ground: Ground) -> None:
    """Its change may be delivered again, and would be published a second time; after a crash even what is confirmed."""
    [(restart, confirmed)] = ground.database.execute(
        "SELECT restart_lsn, confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = %s", [ground.slot]
    )
    assert restart != confirmed
    park(ground, "not confirmed", lsn=confirmed)
    park(ground, "confirmed, perhaps not on disk", lsn=restart)
    park(ground, "behind it")
    assert sweep(ground).removed == 1
    assert left(ground) == ["confirmed, perhaps not on disk", "not confirmed"]


def test_what_a_replay_may_come_to_again_stays(ground: Ground) -> None:
    ground.database.execute(
        "INSERT INTO cdc_relay.replays (id, slot, kind, state) VALUES ('going', %(slot)s, 'replay', 'running'),"
        " ('gone', %(slot)s, 'replay', 'finished')",
        {"slot": ground.slot},  # type: ignore[arg-type]  # named parameters
    )
    park(ground, "of a running one", run="going")
    park(ground, "of a finished one", run="gone")
    assert sweep(ground).removed == 1
    assert left(ground) == ["of a running one"]


def test_another_slots_records_stay(ground: Ground) -> None:
    park(ground, "theirs", slot="another")
    assert sweep(ground).removed == 0


def test_a_lot_in_another_database_is_cleaned_there(
    ground: Ground, postgres: PostgresServer, request: pytest.FixtureRequest
) -> None:
    elsewhere = Database(postgres)
    request.addfinalizer(elsewhere.drop)
    ground.parking = {"dsn": elsewhere.dsn()}
    ground.set_up()
    elsewhere.execute("CREATE SEQUENCE ordinals")
    park(ground, "here")
    given = {"slot": ground.slot, "lsn": "0/1", "published": None, "run": None, "edited": None, "days": 31}
    elsewhere.execute(PARK, {"name": "there", "status": "published", **given})  # type: ignore[arg-type]  # named parameters
    assert sweep(ground).removed == 1
    assert (left(ground), elsewhere.execute("SELECT id FROM cdc_relay.parked_records")) == (["here"], [])


def test_off_keeps_all(ground: Ground) -> None:
    park(ground, "old", days=3000)
    ground.retention = {"lot": "off"}
    assert ground.sweep() == {}


def test_batches_go_on_where_the_last_one_ended(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lot, "_REMOVE", lot._REMOVE.replace("LIMIT 1000", "LIMIT 2"))
    for number in range(5):
        park(ground, f"old {number}")
    assert sweep(ground).removed == 5


def test_an_edit_that_nobody_can_read_keeps_its_record_and_no_other(ground: Ground) -> None:
    park(ground, "odd")
    ground.database.execute("""UPDATE cdc_relay.parked_records SET edits = '[{"at": "yesterday"}]'""")
    park(ground, "old")
    assert sweep(ground).removed == 1
    assert left(ground) == ["odd"]


def test_the_right_that_is_missing_is_named(ground: Ground) -> None:
    park(ground, "old")
    role = ground.database.create_relay_role()
    ground.database.execute(f"REVOKE DELETE ON cdc_relay.parked_records FROM {role}")
    ground.dsn = ground.database.dsn(role)
    swept = sweep(ground)
    assert (swept.removed, "may not remove records of the lot" in swept.trouble) == (0, True)
    ground.database.execute(swept.remedy)
    assert sweep(ground).removed == 1
