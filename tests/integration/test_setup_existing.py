"""setup where something is there already: publications, slots, and rows from before."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from cdc_relay.admin import setup_warnings
from tests.fixtures.fix_postgres import Database, MakePostgres, PostgresServer
from tests.integration.setup_rig import OUTBOX, ROW, Setup, give_to_owner, quoted

pytestmark = pytest.mark.core


@pytest.fixture
def setup(database: Database, tmp_path: Path) -> Setup:
    database.execute(OUTBOX.format("public.outbox"))
    return Setup(database, tmp_path / "relay.yaml")


# --- publications that are there


def test_a_table_is_added_to_a_publication_that_lacks_it(setup: Setup) -> None:
    setup()
    setup.database.execute(OUTBOX.format("public.commands"))
    setup.database.execute(f"INSERT INTO public.commands VALUES {ROW}, {ROW}")
    setup.tables.append("public.commands")
    result = setup()
    assert "publication orders_outbox: already there, added public.commands" in result.stdout
    assert len(setup.catalog()["members"]) == 2
    assert "public.commands is in the publication from now on" in result.stderr
    assert "public.commands has 2 rows" in result.stderr
    assert "public.outbox has" not in result.stderr


@pytest.mark.parametrize("cover", ["FOR ALL TABLES", "FOR TABLES IN SCHEMA public"])
def test_a_publication_that_covers_the_table_otherwise_is_left_alone(setup: Setup, cover: str) -> None:
    setup.database.execute(f"CREATE PUBLICATION orders_outbox {cover}")
    result = setup()
    assert result.exit_code == 0, result.exception
    assert setup.catalog()["members"] == []


def test_a_publication_without_inserts_is_refused_with_the_fix(setup: Setup) -> None:
    setup.database.execute("CREATE PUBLICATION orders_outbox FOR TABLE outbox WITH (publish = 'delete')")
    message = setup.refused()
    assert "does not publish inserts" in message
    assert "ALTER PUBLICATION orders_outbox SET (publish = 'insert" in message
    assert setup.database.slot_names() == []


def test_a_partitioned_table_needs_its_root_published(setup: Setup) -> None:
    partition(setup)
    setup.database.execute("CREATE PUBLICATION orders_outbox FOR TABLE parts WITH (publish = 'insert')")
    fix = "ALTER PUBLICATION orders_outbox SET (publish_via_partition_root = true)"
    assert fix in setup.refused()
    setup.database.execute(fix)
    assert setup().exit_code == 0


def test_a_partitioned_table_is_published_as_itself(setup: Setup) -> None:
    partition(setup)
    assert setup().exit_code == 0
    setup.database.execute(f"INSERT INTO public.parts VALUES {ROW}")
    [(root,)] = setup.database.execute("SELECT 'public.parts'::regclass::oid")
    [insert] = [message for message in read_messages(setup) if message.startswith(b"I")]
    assert int.from_bytes(insert[1:5], "big") == root


def partition(setup: Setup) -> None:
    setup.database.execute(OUTBOX.format("public.parts") + " PARTITION BY LIST (aggregatetype)")
    setup.database.execute("CREATE TABLE public.parts_1 PARTITION OF public.parts DEFAULT")
    setup.tables = ["public.parts"]


def read_messages(setup: Setup) -> list[bytes]:
    rows = setup.database.execute(
        "SELECT data FROM pg_logical_slot_get_binary_changes(%s, NULL, NULL, 'proto_version', '1',"
        " 'publication_names', %s)",
        [setup.slot, quoted(setup.publication)],
    )
    return [bytes(data) for (data,) in rows]


def test_a_new_publication_of_an_older_slot_is_told_and_the_command_given_repairs_it(setup: Setup) -> None:
    setup()
    setup.database.execute("DROP PUBLICATION orders_outbox")
    setup.database.execute(f"INSERT INTO public.outbox VALUES {ROW}")
    result = setup()
    assert f"slot {setup.slot} is older than publication orders_outbox" in result.stderr
    assert "public.outbox has 1 row;" in result.stderr
    [command] = [line.partition("moment: ")[2] for line in result.stderr.splitlines() if "moment: " in line]
    setup.database.execute(command)
    setup.database.execute("INSERT INTO public.outbox (type) VALUES ('after the repair')")
    assert any(b"after the repair" in message for message in read_messages(setup))


# --- slots that are there

SLOTS = {
    "other plugin": ("SELECT pg_create_logical_replication_slot(%s, 'test_decoding')", "test_decoding"),
    "two_phase": ("SELECT pg_create_logical_replication_slot(%s, 'pgoutput', false, true)", "two_phase"),
    "physical": ("SELECT pg_create_physical_replication_slot(%s)", "physical"),
}


@pytest.mark.parametrize("case", SLOTS)
def test_an_unfit_slot_is_refused_and_nothing_is_made(setup: Setup, case: str) -> None:
    command, word = SLOTS[case]
    try:
        setup.database.execute(command, [setup.slot])
    except psycopg.errors.UndefinedFile:
        pytest.skip("this Postgres has no contrib modules")
    try:
        message = setup.refused()
    finally:
        setup.database.server.execute("SELECT pg_drop_replication_slot(%s)", [setup.slot])
    assert word in message
    assert f"pg_drop_replication_slot('{setup.slot}')" in message
    assert setup.database.execute("SELECT 1 FROM pg_publication") == []


def test_a_slot_of_another_database_is_refused(setup: Setup, postgres: PostgresServer) -> None:
    postgres.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [setup.slot])
    try:
        assert "belongs to database postgres" in setup.refused()
    finally:
        postgres.execute("SELECT pg_drop_replication_slot(%s)", [setup.slot])


def test_a_temporary_slot_is_refused(setup: Setup) -> None:
    with setup.database.connect() as conn:
        conn.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput', true)", [setup.slot])
        assert "temporary" in setup.refused()


def test_a_lost_slot_is_refused(make_postgres: MakePostgres, tmp_path: Path) -> None:
    database = Database(make_postgres(max_slot_wal_keep_size="1MB", min_wal_size="32MB", max_wal_size="32MB"))
    database.execute(OUTBOX.format("public.outbox"))
    setup = Setup(database, tmp_path / "relay.yaml")
    assert setup().exit_code == 0
    for _ in range(4):
        database.execute("SELECT pg_switch_wal() FROM (SELECT pg_logical_emit_message(false, 'x', 'y')) AS m")
    database.execute("CHECKPOINT")
    message = setup.refused()
    assert "is lost" in message
    assert f"pg_drop_replication_slot('{setup.slot}')" in message


# --- rows from before


def test_rows_from_before_the_slot_are_counted(setup: Setup) -> None:
    setup.database.execute(f"INSERT INTO public.outbox VALUES {ROW}, {ROW}, {ROW}")
    assert "warning: public.outbox has 3 rows; those committed before the slot was created" in setup().stderr


def test_an_empty_table_gives_no_warning(setup: Setup) -> None:
    assert "warning" not in setup().stderr


def test_a_big_table_is_not_counted_to_its_end(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup_warnings, "COUNT_LIMIT", 1_000)
    setup.database.execute("INSERT INTO public.outbox (type) SELECT 'x' FROM generate_series(1, 1001)")
    assert "public.outbox has more than 1,000 rows" in setup().stderr


def test_rows_that_cannot_be_counted_do_not_end_setup(setup: Setup) -> None:
    role = give_to_owner(setup, "LOGIN REPLICATION")
    setup.database.execute(f"GRANT CREATE ON DATABASE {setup.database.name} TO {role}")
    setup.database.execute(f"REVOKE SELECT ON public.outbox FROM {role}")
    result = setup()
    assert result.exit_code == 0, result.exception
    assert "rows that could not be counted" in result.stderr
