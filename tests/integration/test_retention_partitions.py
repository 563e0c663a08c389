"""Months as partitions: made ahead, dropped when over, by their bounds; and what is left alone."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from cdc_relay.admin.retention.months import leaf_name
from tests.fixtures.fix_postgres import Database
from tests.integration.months_rig import AHEAD, BY_MONTH, THIS, add, add_month, earlier, leaves, names
from tests.integration.retention_rig import Ground

pytestmark = pytest.mark.core


@pytest.fixture
def ground(database: Database, tmp_path: Path) -> Ground:
    """A partitioned outbox without a partition; rows stay for 40 days."""
    ground = Ground(database, tmp_path)
    ground.retention = {"outbox": "40d", "partitions": True}
    ground.create_outbox(by=BY_MONTH)
    return ground


def test_this_month_and_the_next_two_are_made_once(ground: Ground) -> None:
    ground.set_up()
    assert ground.sweep_outbox(dry_run=True).made == tuple(f"public.{name}" for name in names(AHEAD))
    assert leaves(ground) == []
    assert len(ground.sweep_outbox().made) == 3
    assert leaves(ground) == names(AHEAD)
    assert not ground.sweep_outbox().is_change
    ground.insert(days_ago=0)


def test_a_new_month_is_as_the_table_is(database: Database, tmp_path: Path) -> None:
    """Key, checks, defaults, generated and identity columns; and it belongs to the table's owner."""
    ground = Ground(database, tmp_path)
    ground.retention = {"partitions": True}
    owner = database.create_role()
    database.execute(
        "CREATE TABLE outbox (number bigint GENERATED ALWAYS AS IDENTITY, id uuid DEFAULT gen_random_uuid(),"
        " aggregatetype text CHECK (aggregatetype <> ''), aggregateid text, type text, payload jsonb,"
        " size int GENERATED ALWAYS AS (length(aggregateid)) STORED, created_at timestamptz DEFAULT now(),"
        f" PRIMARY KEY (id, created_at)) {BY_MONTH}"
    )
    database.execute(f"ALTER TABLE outbox OWNER TO {owner}; GRANT CREATE ON SCHEMA public TO {owner}")
    ground.set_up()
    assert len(ground.sweep_outbox().made) == 3
    database.execute("INSERT INTO outbox (aggregatetype, aggregateid) VALUES ('order', 'abc')")
    assert database.execute("SELECT number, size FROM outbox") == [(1, 3)]
    with pytest.raises(psycopg.errors.CheckViolation):
        database.execute("INSERT INTO outbox (aggregatetype) VALUES ('')")
    owners = database.execute("SELECT DISTINCT relowner::regrole::text FROM pg_class WHERE relname LIKE 'outbox_2%'")
    assert owners == [(owner,)]


def test_months_that_are_wholly_older_are_dropped_by_their_bounds(ground: Ground) -> None:
    """Whatever they are called; the one that is partly older stays."""
    for back in (2, 1):
        add_month(ground, earlier(THIS, back), rows=1)
    named = add_month(ground, earlier(THIS, 5), "whatever", rows=3)
    add_month(ground, earlier(THIS, 4), rows=2)
    ground.set_up()
    expected = (named, f"public.{leaf_name('outbox', earlier(THIS, 4))}")
    seen = ground.sweep_outbox(dry_run=True)
    assert (seen.dropped[:2], seen.removed >= 5, len(leaves(ground))) == (expected, True, 4)
    swept = ground.sweep_outbox()
    assert (swept.dropped[:2], swept.trouble) == (expected, "")
    assert leaf_name("outbox", earlier(THIS, 1)) in leaves(ground)
    assert ground.keys()["old"] == 2 - (len(swept.dropped) - 2)


def test_a_month_with_a_row_that_is_not_settled_stays(ground: Ground) -> None:
    old = add_month(ground, earlier(THIS, 5), rows=3)
    ground.set_up()
    ground.database.execute(f"INSERT INTO outbox (created_at) VALUES ('{earlier(THIS, 5).begin} +00')")
    for dry_run in (True, False):
        swept = ground.sweep_outbox(dry_run=dry_run)
        assert (swept.dropped, swept.removed) == ((), 0)
        assert swept.notes == (f"partition {old} stays: it has a row that is not surely published or parked",)
    assert ground.keys() == {"None": 1, "old": 3}


def test_a_month_that_is_partitioned_itself_is_judged_with_all_its_rows(ground: Ground) -> None:
    month = earlier(THIS, 5)
    ground.database.execute(
        f"CREATE TABLE parent PARTITION OF outbox FOR VALUES FROM ('{month.begin} +00') TO ('{month.end} +00')"
        " PARTITION BY HASH (aggregateid);"
        " CREATE TABLE child PARTITION OF parent FOR VALUES WITH (MODULUS 1, REMAINDER 0)"
    )
    ground.set_up()
    ground.database.execute(f"INSERT INTO outbox (created_at) VALUES ('{month.begin} +00')")
    assert ground.sweep_outbox().dropped == ()
    assert ground.keys() == {"None": 1}


def test_doubt_keeps_every_month_and_the_next_ones_are_made_all_the_same(ground: Ground) -> None:
    add_month(ground, earlier(THIS, 5))
    ground.set_up()
    ground.database.execute("UPDATE cdc_relay.guard SET settled_at = now() - interval '40 days'")
    swept = ground.sweep_outbox()
    assert (swept.dropped, len(swept.made)) == ((), 3)
    assert "longer ago than rows are kept" in swept.trouble


def test_without_a_time_to_stay_no_month_is_dropped(ground: Ground) -> None:
    ground.retention = {"partitions": True}
    add_month(ground, earlier(THIS, 50))
    ground.set_up()
    assert ground.sweep_outbox().dropped == ()


def test_partitions_of_other_bounds_are_left_alone_and_said(ground: Ground) -> None:
    """A year that is over, a month of another zone across the next ones, and the rest of the past."""
    add(ground, "a_year", "'2019-01-01 +00'", "'2020-01-01 +00'")
    add(ground, "the_past", "MINVALUE", "'2019-01-01 +00'")
    add(ground, "elsewhere", f"'{THIS.next.begin} -05'", f"'{THIS.next.end} -05'")
    ground.set_up()
    swept = ground.sweep_outbox()
    assert leaves(ground) == sorted(["a_year", "the_past", "elsewhere", leaf_name("outbox", THIS)])
    assert [note.split(" ")[0:2] for note in swept.notes] == [
        ["month", str(THIS.next)],
        ["month", str(THIS.next.next)],
        ["partition", "public.a_year"],
        ["partition", "public.the_past"],
    ]


def test_a_longer_partition_that_has_a_month_needs_no_other(ground: Ground) -> None:
    add(ground, "for_ever", f"'{THIS.begin} +00'", "MAXVALUE")
    ground.set_up()
    swept = ground.sweep_outbox()
    assert (swept.is_change, swept.notes) == (False, ())


def test_rows_in_the_default_partition_are_in_the_way_and_stay(ground: Ground) -> None:
    ground.database.execute("CREATE TABLE rest PARTITION OF outbox DEFAULT")
    ground.insert(days_ago=0, key="new")
    ground.set_up()
    swept = ground.sweep_outbox()
    assert "move them out of it" in swept.remedy
    assert (leaves(ground), ground.keys()) == (["rest"], {"new": 1})
    ground.database.execute("DELETE FROM outbox")
    assert len(ground.sweep_outbox().made) == 3


def test_a_month_that_cannot_be_made_keeps_no_old_one(ground: Ground) -> None:
    ground.database.execute("CREATE TABLE rest PARTITION OF outbox DEFAULT")
    ground.insert(days_ago=0, key="new")
    old = add_month(ground, earlier(THIS, 5), rows=2)
    ground.set_up()
    swept = ground.sweep_outbox()
    assert (swept.dropped, swept.removed) == ((old,), 2)
    assert "move them out of it" in swept.remedy


def test_bounds_are_in_utc_whatever_zone_the_server_is_in(ground: Ground) -> None:
    ground.database.execute(f"ALTER DATABASE {ground.database.name} SET timezone = 'Pacific/Kiritimati'")
    old = add_month(ground, earlier(THIS, 5))
    ground.set_up()
    swept = ground.sweep_outbox()
    assert (old in swept.dropped, swept.notes) == (True, ())
    with ground.database.connect(options="-c timezone=UTC") as conn:
        [(bound,)] = conn.execute(
            "SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname = %s", [leaf_name("outbox", THIS)]
        ).fetchall()
    assert bound == f"FOR VALUES FROM ('{THIS.begin}+00') TO ('{THIS.end}+00')"


def test_a_timestamp_without_zone_has_months_too(database: Database, tmp_path: Path) -> None:
    ground = Ground(database, tmp_path)
    ground.retention = {"outbox": "40d", "partitions": True}
    ground.create_outbox(by=BY_MONTH, time_type="timestamp")
    old = add_month(ground, earlier(THIS, 5), rows=1)
    ground.set_up()
    swept = ground.sweep_outbox()
    assert (swept.dropped, len(swept.made), ground.keys()) == ((old,), 3, {})


def test_a_table_that_is_not_partitioned_so_has_its_rows_removed(database: Database, tmp_path: Path) -> None:
    ground = Ground(database, tmp_path)
    ground.retention = {"outbox": "40d", "partitions": True}
    ground.create_outbox()
    ground.insert(days_ago=41)
    ground.set_up()
    assert ground.sweep_outbox().removed == 1


def test_only_an_owner_makes_months_and_a_member_of_it_is_one(ground: Ground) -> None:
    owner = ground.database.create_role()
    ground.database.execute(f"ALTER TABLE outbox OWNER TO {owner}")
    ground.set_up()
    ground.dsn = ground.database.dsn(ground.database.create_relay_role())
    for problem in ("may not make and drop partitions", "may not make tables in its schema"):
        swept = ground.sweep_outbox()
        assert (problem in swept.trouble, swept.made) == (True, ())
        ground.database.execute(swept.remedy.partition("; ")[0])
    assert len(ground.sweep_outbox().made) == 3
