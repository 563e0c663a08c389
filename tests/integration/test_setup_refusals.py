"""What setup refuses: tables, rights and servers that do not do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cdc_relay.admin import setup as admin_setup  # pytest would call a `setup_module`
from cdc_relay.admin import setup_line
from cdc_relay.config import load
from cdc_relay.errors import AwayError, RefusedError, RelayError
from cdc_relay.target import conninfo_of, wanted_of
from tests.fixtures.fix_postgres import Database, MakePostgres
from tests.integration.setup_rig import OUTBOX, Setup, give_to_owner

pytestmark = pytest.mark.core


@pytest.fixture
def setup(database: Database, tmp_path: Path) -> Setup:
    database.execute(OUTBOX.format("public.outbox"))
    return Setup(database, tmp_path / "relay.yaml")


def test_a_missing_table_is_refused(setup: Setup) -> None:
    setup.tables = ["public.elsewhere"]
    assert "no table public.elsewhere" in setup.refused()
    assert setup.database.slot_names() == []


@pytest.mark.parametrize("column", ["id", "aggregateid", "type", "payload", "aggregatetype"])
def test_a_missing_column_is_refused_with_those_there_are(setup: Setup, column: str) -> None:
    setup.database.execute(f"ALTER TABLE public.outbox RENAME COLUMN {column} TO other")
    message = setup.refused()
    assert f"has no column {column}" in message
    there = {"id", "aggregatetype", "aggregateid", "type", "payload", "other"} - {column}
    assert all(name in message for name in there)


def test_an_unlogged_table_is_refused(setup: Setup) -> None:
    setup.database.execute("ALTER TABLE public.outbox SET UNLOGGED")
    message = setup.refused()
    assert "is unlogged" in message
    assert "ALTER TABLE public.outbox SET LOGGED" in message
    assert setup.database.slot_names() == []


def test_an_owner_needs_no_superuser(setup: Setup) -> None:
    role = give_to_owner(setup, "LOGIN REPLICATION")
    setup.database.execute(f"GRANT CREATE ON DATABASE {setup.database.name} TO {role}")
    assert setup().exit_code == 0
    assert setup().stdout.count("already there") == 4


def test_a_role_that_may_not_create_is_told_what_it_needs(setup: Setup) -> None:
    give_to_owner(setup, "LOGIN REPLICATION")
    message = setup.refused()
    assert "publication orders_outbox: permission denied for database" in message
    assert "CREATE on the database" in message
    assert "--print" in message


def test_a_role_that_does_not_own_the_table_is_told_so(setup: Setup) -> None:
    role = setup.database.create_role("LOGIN REPLICATION")
    setup.database.execute(f"GRANT CREATE ON DATABASE {setup.database.name} TO {role}")
    setup.dsn = setup.database.dsn(role)
    assert "must own the tables" in setup.refused()


def test_a_role_without_replication_is_told_how_to_get_it(setup: Setup) -> None:
    role = give_to_owner(setup, "LOGIN")
    setup.database.execute(f"GRANT CREATE ON DATABASE {setup.database.name} TO {role}")
    message = setup.refused()
    assert f"slot {setup.slot}:" in message
    assert "ALTER ROLE <the role of source.dsn> REPLICATION" in message


def test_wal_level_replica_is_refused_with_the_fix(make_postgres: MakePostgres, tmp_path: Path) -> None:
    database = Database(make_postgres(wal_level="replica"))
    database.execute(OUTBOX.format("public.outbox"))
    message = Setup(database, tmp_path / "relay.yaml").refused()
    assert "wal_level is replica" in message
    assert "ALTER SYSTEM SET wal_level = 'logical'" in message
    assert "restart" in message


def test_no_free_slot_is_refused_with_the_setting(make_postgres: MakePostgres, tmp_path: Path) -> None:
    database = Database(make_postgres(max_replication_slots=1))
    database.execute("SELECT pg_create_physical_replication_slot('the_only_one')")
    database.execute(OUTBOX.format("public.outbox"))
    assert "max_replication_slots" in Setup(database, tmp_path / "relay.yaml").refused()


def test_a_read_only_server_is_refused(setup: Setup) -> None:
    setup.dsn = setup.database.dsn(options="-c default_transaction_read_only=on")
    assert "connect to the primary" in setup.refused()


def test_a_schema_of_a_newer_version_is_refused(setup: Setup) -> None:
    setup()
    setup.database.execute("INSERT INTO cdc_relay.schema_version VALUES (999)")
    assert "version 999" in setup.refused()


def test_a_slot_that_waits_for_an_open_transaction_is_given_up_with_the_reason(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup_line, "STATEMENT_LIMIT_SECONDS", 1)
    with setup.database.connect(autocommit=False) as writer:
        writer.execute("CREATE TABLE open_transaction ()")
        message = setup.refused()
    assert "waits for open transactions" in message
    assert setup.database.slot_names() == []
    assert setup().exit_code == 0


def connection_cases() -> Iterator[tuple[str, Callable[[Database], str], type[RelayError]]]:
    yield "no such role", lambda d: d.dsn("nobody_like_this"), RefusedError
    yield "no such database", lambda d: d.server.dsn("nothing_like_this"), RefusedError
    yield "nobody listens", lambda d: d.dsn(port=1), AwayError
    yield "unknown host", lambda d: d.dsn(host="no-such-host.invalid"), AwayError


@pytest.mark.parametrize(
    ("make_dsn", "kind"), [pytest.param(dsn, kind, id=name) for name, dsn, kind in connection_cases()]
)
def test_a_failed_connection_is_an_error_of_ours_without_the_password(
    setup: Setup, make_dsn: Callable[[Database], str], kind: type[RelayError]
) -> None:
    setup.dsn = make_dsn(setup.database) + " password=hunter2secret"
    assert "hunter2secret" not in setup.refused(kind)


def test_a_wrong_password_is_refused_and_not_shown(make_postgres: MakePostgres, tmp_path: Path) -> None:
    server = make_postgres()
    rules = server.data_dir / "pg_hba.conf"
    rules.write_text("host all guarded 127.0.0.1/32 scram-sha-256\n" + rules.read_text())
    server.restart()
    server.execute("CREATE ROLE guarded LOGIN PASSWORD 'the right one'")
    setup = Setup(Database(server), tmp_path / "relay.yaml")
    setup.dsn = setup.database.dsn("guarded", password="hunter2secret")
    message = setup.refused()
    assert "password authentication failed" in message
    assert "hunter2secret" not in message


def test_a_line_that_breaks_under_setup_is_an_error_of_ours(setup: Setup) -> None:
    setup("--print")  # writes the file
    config = load(setup.path)
    steps = admin_setup.set_up(conninfo_of(config), wanted_of(config))
    next(steps)
    setup.database.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND application_name ~ '^cdc-relay'",
        [setup.database.name],
    )
    with pytest.raises(AwayError, match=r"run again") as away:
        list(steps)
    assert away.value.exit_code == 3
    assert setup().exit_code == 0
