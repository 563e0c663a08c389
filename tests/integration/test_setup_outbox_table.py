"""`setup --outbox-table`: a table for those who have none, under the names of their file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdc_relay.sources.line import Line
from tests.fixtures.fix_postgres import Database
from tests.fixtures.fix_relay import MakeRelay
from tests.fixtures.process import wait_until
from tests.integration.retention_rig import Ground
from tests.integration.setup_rig import HOSTILE, OUTBOX, Setup, quoted, run_script

pytestmark = pytest.mark.core

COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, coalesce(pg_get_expr(d.adbin, d.adrelid), '')
  FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
 WHERE a.attrelid = %s::regclass AND a.attnum > 0 ORDER BY a.attnum
"""
KEY = "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = %s::regclass ORDER BY indisprimary DESC"


@pytest.fixture
def setup(database: Database, tmp_path: Path) -> Setup:
    return Setup(database, tmp_path / "relay.yaml")


def describe(database: Database, table: str) -> list[Any]:
    return [*database.execute(COLUMNS, [table]), *database.execute(KEY, [table])]


def test_the_table_is_made_before_publication_and_slot(setup: Setup) -> None:
    done = setup("--outbox-table")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0] == "table public.outbox: created"
    hint = "columns: {headers: headers, correlation_id: correlation_id, scheduled_at: scheduled_at}"
    assert hint in done.stderr
    [(version,)] = setup.database.execute("SELECT current_setting('server_version_num')::int")
    made = describe(setup.database, "public.outbox")
    assert made == [
        ("id", "uuid", True, "uuidv7()" if version >= 180000 else "gen_random_uuid()"),
        ("aggregatetype", "text", True, ""),
        ("aggregateid", "text", True, ""),
        ("type", "text", True, ""),
        ("payload", "jsonb", False, ""),
        ("headers", "jsonb", False, ""),
        ("correlation_id", "text", False, ""),
        ("scheduled_at", "timestamp with time zone", False, ""),
        ("created_at", "timestamp with time zone", True, "now()"),
        ("CREATE UNIQUE INDEX outbox_pkey ON public.outbox USING btree (id)",),
    ]


def test_the_script_by_hand_makes_the_same_table(setup: Setup) -> None:
    run_script(setup, "000_outbox_table.sql", "table=public.by_hand")
    setup("--outbox-table")
    by_hand = describe(setup.database, "public.by_hand")
    assert by_hand[:-1] == describe(setup.database, "public.outbox")[:-1]


def test_a_table_that_is_there_is_left_as_it_is_and_said(setup: Setup) -> None:
    setup.database.execute(OUTBOX.format("public.outbox"))
    before = describe(setup.database, "public.outbox")
    done = setup("--outbox-table", "--partitioned")
    assert "table public.outbox: already there, left as it is" in done.stdout
    assert setup("--outbox-table").stdout.count("already there") == 5
    assert describe(setup.database, "public.outbox") == before


@pytest.fixture
def renamed(database: Database, tmp_path: Path) -> Ground:
    """Mapped columns, and columns that only routes name."""
    ground = Ground(database, tmp_path)
    columns = {"id": "event_id", "key": '"Order Key"', "timestamp": "occurred_at", "headers": "meta"}
    ground.outboxes = [
        {
            "table": "public.outbox",
            "columns": {**columns, "partition": "part", "tenant": "tenant_id"},
            "routes": [{"topic": "x.{region}", "when": {"kind": "a", "payload.state": "b"}}],
        }
    ]
    return ground


def test_the_names_are_those_of_the_file(renamed: Ground) -> None:
    """Mapped ones with their types, those that only routes name as text."""
    renamed.set_up("--outbox-table")
    made = {name: kind for name, kind, *_ in renamed.database.execute(COLUMNS, ["public.outbox"])}
    assert made == {
        "event_id": "uuid",
        "aggregatetype": "text",
        "Order Key": "text",
        "type": "text",
        "payload": "jsonb",
        "meta": "jsonb",
        "correlation_id": "text",
        "scheduled_at": "timestamp with time zone",
        "part": "integer",
        "tenant_id": "text",
        "occurred_at": "timestamp with time zone",
        "kind": "text",
        "region": "text",
    }


def test_columns_that_nothing_reads_are_said(renamed: Ground) -> None:
    hint = "columns: {correlation_id: correlation_id, scheduled_at: scheduled_at}"
    assert hint in renamed.set_up("--outbox-table")


def test_rows_that_will_be_removed_have_an_index_by_their_time(renamed: Ground) -> None:
    renamed.set_up("--outbox-table")
    index = "CREATE INDEX outbox_occurred_at_idx ON public.outbox USING btree (occurred_at)"
    assert (index,) in renamed.database.execute(KEY, ["public.outbox"])


def test_the_server_gives_up_a_table_before_we_do(renamed: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    query, limits = Line.query, []

    def spy(self: Line, sql: str, params: Any = (), *, timeout_seconds: float = 15.0) -> Any:
        if "CREATE TABLE public.outbox" in sql:
            limits.append(timeout_seconds)
        return query(self, sql, params, timeout_seconds=timeout_seconds)

    monkeypatch.setattr(Line, "query", spy)
    renamed.set_up("--outbox-table")
    assert limits == [65]


def test_partitioned_it_has_this_month_and_the_next_two(database: Database, tmp_path: Path) -> None:
    ground = Ground(database, tmp_path)
    ground.retention = {"outbox": "40d", "partitions": True}
    output = ground.set_up("--outbox-table", "--partitioned")
    assert "table public.outbox: created, partitioned by month" in output
    assert "nobody makes partitions" not in output
    key = "CREATE UNIQUE INDEX outbox_pkey ON ONLY public.outbox USING btree (id, created_at)"
    assert database.execute(KEY, ["public.outbox"]) == [(key,)]
    [(count,)] = database.execute("SELECT count(*) FROM pg_inherits WHERE inhparent = 'outbox'::regclass")
    assert count == 3
    swept = ground.sweep_outbox()
    assert (swept.is_change, swept.trouble, swept.notes) == (False, "", ())


@pytest.mark.parametrize("arguments", [(), ("--partitioned",)])
def test_the_printed_script_makes_the_same_tables(setup: Setup, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    setup.tables = ["public.outbox", f"public.{quoted(HOSTILE)}"]
    script = tmp_path / "setup.sql"
    script.write_text(setup("--print", "--outbox-table", *arguments).stdout, encoding="utf-8")
    for _ in range(2):
        setup.database.server.psql("-f", str(script), dbname=setup.database.name)
    printed = [describe(setup.database, table) for table in setup.tables]
    setup.database.execute("DROP PUBLICATION orders_outbox")
    setup.database.execute("SELECT pg_drop_replication_slot(%s)", [setup.slot])
    setup.database.execute(f"DROP TABLE {', '.join(setup.tables)}")
    assert setup("--outbox-table", *arguments).exit_code == 0
    assert [describe(setup.database, table) for table in setup.tables] == printed


def test_months_that_nobody_will_make_are_warned_of(setup: Setup) -> None:
    assert "retention: {partitions: true}" in setup("--outbox-table", "--partitioned").stderr


def test_partitioned_is_for_new_tables_only(setup: Setup) -> None:
    assert setup("--partitioned").exit_code == 2


def test_without_the_right_to_create_the_grant_is_named(setup: Setup) -> None:
    role = setup.database.create_role("LOGIN REPLICATION")
    setup.database.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    setup.dsn = setup.database.dsn(role)
    result = setup("--outbox-table")
    assert "GRANT CREATE ON SCHEMA public TO" in str(result.exception)


def test_a_relay_publishes_from_the_table_that_was_made(
    database: Database, tmp_path: Path, make_relay: MakeRelay
) -> None:
    ground = Ground(database, tmp_path)
    ground.outboxes = [
        {"table": "public.outbox", "columns": {part: part for part in ("headers", "correlation_id", "scheduled_at")}}
    ]
    ground.set_up("--outbox-table", "--partitioned")
    config = ground.config(http={"listen": "off"})
    config["source"]["dsn"] = database.dsn(database.create_relay_role())
    relay = make_relay({**config, "sink": "log"})
    database.execute(
        "INSERT INTO outbox (aggregatetype, aggregateid, type, payload, headers) VALUES ('order', '7', 'T', '{}', %s)",
        ['{"trace": "abc"}'],
    )
    wait_until(lambda: '"trace"' in relay.stdout, timeout=60, what="the row is published")
