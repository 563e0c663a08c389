"""The slot and its snapshot: what the snapshot sees is what the slot does not have; and waiting for it has an end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from cdc_relay.errors import RefusedError
from cdc_relay.sources import exported_slot
from cdc_relay.sources.exported_slot import export_slot
from cdc_relay.sources.line import Line
from tests.fixtures.fix_postgres import Database
from tests.fixtures.outbox import create_outbox, insert_event
from tests.fixtures.process import wait_until


@pytest.fixture
def control(database: Database) -> Iterator[Line]:
    with closing(Line.open(database.dsn())) as line:
        yield line


def replication_dsn(database: Database) -> str:
    return database.dsn(replication="database")


@pytest.mark.core
def test_the_snapshot_sees_what_was_committed_before_the_slot(database: Database, control: Line) -> None:
    with database.connect() as conn:
        create_outbox(conn)
        before = insert_event(conn, "order")
        with closing(export_slot(replication_dsn(database), f"{database.name}_slot", control=control)) as exported:
            insert_event(conn, "order")
            with database.connect(autocommit=False) as reader:
                reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                reader.execute(f"SET TRANSACTION SNAPSHOT '{exported.snapshot}'")
                assert reader.execute("SELECT id::text FROM public.outbox").fetchall() == [(before,)]
            assert database.confirmed_lsn(f"{database.name}_slot") == exported.lsn


@pytest.mark.core
def test_a_slot_can_follow_a_failover_where_the_server_knows_how(database: Database, control: Line) -> None:
    name = f"{database.name}_slot"
    export_slot(replication_dsn(database), name, control=control).close()
    [(slot,)] = database.execute("SELECT to_jsonb(s) FROM pg_replication_slots s WHERE slot_name = %s", [name])
    assert slot.get("failover") is (True if database.server.version >= 17 else None)


def test_a_transaction_that_does_not_end_is_named_and_leaves_no_slot(
    database: Database, control: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And once it has ended, the slot can be made."""
    monkeypatch.setattr(exported_slot, "_WAIT_SECONDS", 1.0)
    name = f"{database.name}_slot"
    with database.connect(autocommit=False) as writer:
        writer.execute("CREATE TABLE public.open_work ()")
        with pytest.raises(RefusedError, match="not made within") as raised:
            export_slot(replication_dsn(database), name, control=control)
        found = database.execute(raised.value.remedy.split("see ")[1].split(";")[0])
        assert database.name in [datname for _, _, datname, _ in found]
        wait_until(lambda: database.slot_names() == [], timeout=30, what="the half-made slot is gone")
    monkeypatch.setattr(exported_slot, "_WAIT_SECONDS", 60.0)
    export_slot(replication_dsn(database), name, control=control).close()
    assert database.slot_names() == [name]


@pytest.mark.core
def test_no_limit_of_the_database_ends_the_session_that_holds_the_snapshot(database: Database, control: Line) -> None:
    limits = ["idle_session_timeout", "idle_in_transaction_session_timeout"]
    limits += ["transaction_timeout"] if database.server.version >= 17 else []
    for limit in limits:
        database.execute(f"ALTER DATABASE {database.name} SET {limit} = '100ms'")
    with closing(export_slot(replication_dsn(database), f"{database.name}_slot", control=control)) as exported:
        for limit in limits:
            database.execute(f"ALTER DATABASE {database.name} RESET {limit}")  # for sessions to come
        control.query("SELECT pg_sleep(0.5)")
        with database.connect(autocommit=False) as reader:
            reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            reader.execute(f"SET TRANSACTION SNAPSHOT '{exported.snapshot}'")
