"""Months made and dropped beside producers, who come first: what they hold, what they wait for, what they add."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdc_relay.admin.retention import month_rows
from cdc_relay.admin.retention.session import open_session
from cdc_relay.sources.line import Line
from tests.fixtures.fix_postgres import Database
from tests.fixtures.process import wait_until
from tests.integration.months_rig import BY_MONTH, THIS, add_month, earlier
from tests.integration.retention_rig import Ground

pytestmark = pytest.mark.core

OLD = earlier(THIS, 5)
DELETE = "DELETE FROM outbox WHERE id = gen_random_uuid()"  # as Outbox(keep=False): it wants every partition
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = %s::regclass"


@pytest.fixture
def ground(database: Database, tmp_path: Path) -> Ground:
    """This month, and an old one of three settled rows; rows stay for 40 days."""
    ground = Ground(database, tmp_path)
    ground.retention = {"outbox": "40d", "partitions": True}
    ground.create_outbox(by=BY_MONTH)
    add_month(ground, THIS)
    add_month(ground, OLD, "old_month", rows=3)
    ground.set_up()
    return ground


def before(monkeypatch: pytest.MonkeyPatch, beginning: str, do: Callable[[], object]) -> None:
    """Once, right before retention sends the first statement that begins so."""
    query, is_done = Line.query, threading.Event()

    def spy(self: Line, sql: str, *arguments: Any, **more: Any) -> Any:
        if sql.startswith(beginning) and not is_done.is_set():
            is_done.set()
            do()
        return query(self, sql, *arguments, **more)

    monkeypatch.setattr(Line, "query", spy)


def delete_at_once(database: Database) -> None:
    with database.connect(options="-c lock_timeout=3s") as producer:
        producer.execute(DELETE)


def test_a_month_is_made_while_producers_have_open_transactions(ground: Ground) -> None:
    ground.retention = {"partitions": True}
    with ground.database.connect(autocommit=False) as producer:
        producer.execute("INSERT INTO outbox (aggregateid) VALUES ('open')")
        swept = ground.sweep_outbox()
    assert (len(swept.made), swept.trouble) == (2, "")


def test_a_month_is_dropped_later_rather_than_let_producers_wait(ground: Ground) -> None:
    with ground.database.connect(autocommit=False) as producer:
        producer.execute("INSERT INTO outbox (aggregateid) VALUES ('open')")
        swept = ground.sweep_outbox()
        assert ("lock timeout" in swept.trouble, swept.dropped) == (True, ())
        producer.execute("INSERT INTO outbox (aggregateid) VALUES ('open')")
    assert ground.sweep_outbox().dropped == ("public.old_month",)


def test_a_producer_that_has_deleted_by_id_keeps_the_month_until_it_ends(ground: Ground) -> None:
    with ground.database.connect(autocommit=False) as producer:
        producer.execute(DELETE)
        swept = ground.sweep_outbox()
        assert ("lock timeout" in swept.trouble, swept.dropped) == (True, ())
        producer.execute(DELETE)
    assert ground.sweep_outbox().dropped == ("public.old_month",)


def test_nobody_waits_while_a_month_is_read(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """To read all of it may take half an hour."""
    before(monkeypatch, "SELECT count(*), count(*)", lambda: delete_at_once(ground.database))
    assert ground.sweep_outbox().dropped == ("public.old_month",)


def test_a_month_under_its_lock_gives_way_to_whoever_waits(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    producer = threading.Thread(target=ground.database.execute, args=[DELETE])

    def arrive() -> None:
        producer.start()
        waiting = [(1,)]
        wait_until(lambda: ground.database.execute(WAITING, ["old_month"]) == waiting, timeout=30, what="it waits")

    before(monkeypatch, "SET LOCAL statement_timeout = '1s'", arrive)
    swept = ground.sweep_outbox()
    producer.join(30)
    assert not producer.is_alive()
    assert (swept.dropped, swept.trouble) == ((), "partition public.old_month is in use: somebody waits for it")
    assert ground.sweep_outbox().dropped == ("public.old_month",)


def test_a_row_that_comes_after_the_month_was_read_keeps_it(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    insert = f"INSERT INTO outbox (aggregateid, created_at) VALUES ('late', '{OLD.begin} +00')"
    before(monkeypatch, "LOCK TABLE", lambda: ground.database.execute(insert))
    swept = ground.sweep_outbox()
    assert swept.notes == ("partition public.old_month stays: it has a row that is not surely published or parked",)
    assert ground.keys() == {"late": 1, "old": 3}


def test_a_gap_that_is_accepted_while_a_month_is_read_keeps_it(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    gap = (
        "INSERT INTO cdc_relay.gaps (slot, problem, from_lsn, to_lsn, from_time, to_time, replay)"
        f" VALUES ('{ground.slot}', 'gone', '0/1', '0/2', now(), now(), 'cdc-relay replay -c FILE')"
    )
    before(monkeypatch, "SELECT count(*), count(*)", lambda: ground.database.execute(gap))
    swept = ground.sweep_outbox()
    assert ("gap 1 was accepted" in swept.trouble, swept.dropped) == (True, ())


def test_every_piece_of_a_month_is_judged(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some pages, read one by one: the row that came last is on the last one."""
    monkeypatch.setattr(month_rows, "PIECE_PAGES", 1)
    add_month(ground, earlier(THIS, 6), "older_month", rows=1000)
    ground.database.execute("UPDATE cdc_relay.guard SET settled_xid = pg_snapshot_xmin(pg_current_snapshot())")
    insert = f"INSERT INTO outbox (aggregateid, created_at) VALUES ('late', '{earlier(THIS, 6).begin} +00')"
    before(monkeypatch, "LOCK TABLE", lambda: ground.database.execute(insert))
    swept = ground.sweep_outbox()
    assert (swept.dropped, swept.removed) == (("public.old_month",), 3)
    ground.database.execute("DELETE FROM outbox WHERE aggregateid = 'late'")
    assert ground.sweep_outbox().removed == 1000


# --- the connection


def test_a_read_ends_soon_after_its_reader_has_gone(ground: Ground) -> None:
    with closing(open_session(ground.dsn, slot=ground.slot)) as line:
        assert line.query("SHOW client_connection_check_interval") == [("5s",)]


def test_a_pass_ends_with_the_connection_that_it_gave_up(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that still runs there: the trouble is said once, and not again for each table."""
    ground.create_outbox(table="public.commands")
    ground.outboxes.append({"table": "public.commands"})
    ground.set_up()
    query = Line.query

    def hasty(self: Line, sql: str, *arguments: Any, **more: Any) -> Any:
        if "count(*) FILTER" not in sql:
            return query(self, sql, *arguments, **more)
        return query(self, "SELECT pg_sleep(20)", timeout_seconds=0.1)

    monkeypatch.setattr(Line, "query", hasty)
    swept = ground.sweep()
    assert list(swept) == ["cdc_relay.parked_records", "public.outbox"]
    assert swept["public.outbox"].trouble == "Postgres did not answer in time"


@pytest.mark.parametrize("beginning", ["CREATE TABLE", "DROP TABLE"])
def test_the_server_gives_up_before_we_do(ground: Ground, monkeypatch: pytest.MonkeyPatch, beginning: str) -> None:
    """Or a transaction would go on that nobody waits for."""
    query, limits = Line.query, []

    def spy(self: Line, sql: str, params: Any = (), *, timeout_seconds: float = 15.0) -> Any:
        if sql.startswith(beginning):
            limits.append(timeout_seconds)
        return query(self, sql, params, timeout_seconds=timeout_seconds)

    monkeypatch.setattr(Line, "query", spy)
    ground.sweep_outbox()
    assert limits
    assert min(limits) > 60
