"""setup on a real Postgres: what it makes, what it leaves alone, what it refuses, and its SQL run by psql."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result
from psycopg import pq, sql

from cdc_relay.admin import setup as admin_setup  # pytest would call a `setup_module`
from cdc_relay.admin import setup_warnings
from cdc_relay.cli.setup import setup_command
from cdc_relay.config import load
from cdc_relay.errors import AwayError, RefusedError, RelayError
from cdc_relay.parking.postgres_lot import PostgresLot
from cdc_relay.sources.catalog import read_facts
from cdc_relay.sources.line import Line
from cdc_relay.sources.preflight import find_problems
from cdc_relay.target import conninfo_of, wanted_of
from tests.fixtures.fix_postgres import Database, MakePostgres, PostgresServer
from tests.fixtures.process import wait_until
from tests.integration.lots import due, make_entry

pytestmark = pytest.mark.core

ROOT = Path(__file__).parents[2]
OUTBOX = "CREATE TABLE {} (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)"
HOSTILE = """Or'der."Out;box\\ ü{x}%s:'slot'"""  # every sign that some quoting gets wrong
ROW = "(gen_random_uuid(), 'order', '1', 'created', '{}')"


class Setup:
    """One configuration file for one database, and the command run on it."""

    def __init__(self, database: Database, path: Path) -> None:
        self.database = database
        self.slot = f"{database.name}_slot"
        self.publication = "orders_outbox"
        self.tables = ["public.outbox"]
        self.dsn = database.dsn()
        self.columns = "{}"
        self.parking_dsn = ""
        self.path = path

    def __call__(self, *arguments: str) -> Result:
        self.path.write_text(self._yaml(), encoding="utf-8")
        return CliRunner().invoke(setup_command, ["-c", str(self.path), *arguments])

    def refused(self, kind: type[RelayError] = RefusedError) -> str:
        result = self()
        assert isinstance(result.exception, kind), result.output
        assert result.exception.exit_code == 3
        return str(result.exception)

    def catalog(self) -> dict[str, Any]:
        return read_catalog(self.database, self.slot)

    def slots(self) -> list[Any]:
        return read_slots(self.database, self.slot)

    def _yaml(self) -> str:
        quoted = {"dsn": self.dsn, "slot": self.slot, "publication": self.publication}
        lines = ["source:", *(f"  {key}: {as_yaml(value)}" for key, value in quoted.items())]
        lines += ["sink: {kafka: {bootstrap.servers: 'localhost:9092'}}", "outboxes:"]
        lines += [f"  - table: {as_yaml(table)}\n    columns: {self.columns}" for table in self.tables]
        lines += [f"parking: {{dsn: {as_yaml(self.parking_dsn)}}}"] if self.parking_dsn else []
        return "\n".join(lines)


def as_yaml(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def quoted(name: str) -> str:
    return sql.Identifier(name).as_string(None)


def read_catalog(database: Database, slot: str) -> dict[str, Any]:
    """All that setup makes, without oids, positions and times."""
    return {
        "publications": database.execute(
            "SELECT pubname, puballtables, pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot"
            " FROM pg_publication ORDER BY 1"
        ),
        "members": database.execute(
            "SELECT p.pubname, r.prrelid::regclass::text, r.prqual::text, r.prattrs::text"
            " FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid ORDER BY 1, 2"
        ),
        "slot": read_slots(database, slot),
        "schema": database.execute(
            "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull"
            " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0"
            " WHERE n.nspname = 'cdc_relay' ORDER BY 1, a.attnum"
        ),
        "indexes": database.execute(
            "SELECT indexdef FROM pg_indexes WHERE schemaname = 'cdc_relay' ORDER BY indexname"
        ),
        "versions": database.execute("SELECT version FROM cdc_relay.schema_version ORDER BY 1"),
    }


def read_slots(database: Database, slot: str) -> list[Any]:
    return database.execute(
        "SELECT slot_name, plugin, slot_type, database, temporary, two_phase FROM pg_replication_slots"
        " WHERE slot_name = %s",
        [slot],
    )


@pytest.fixture
def setup(database: Database, tmp_path: Path) -> Setup:
    database.execute(OUTBOX.format("public.outbox"))
    return Setup(database, tmp_path / "relay.yaml")


# --- what it makes


def test_publication_slot_and_schema_are_made_in_this_order(setup: Setup) -> None:
    result = setup()
    assert result.exit_code == 0, result.output
    publication, slot, schema = result.stdout.splitlines()
    assert publication == "publication orders_outbox: created for public.outbox"
    assert slot.startswith(f"slot {setup.slot}: created, confirmed up to ")
    assert schema == "schema cdc_relay: created, version 4"
    made = setup.catalog()
    assert made["publications"] == [("orders_outbox", False, True, False, False, False, True)]
    assert made["members"] == [("orders_outbox", "outbox", None, None)]
    assert made["slot"] == [(setup.slot, "pgoutput", "logical", setup.database.name, False, False)]
    assert made["versions"] == [(3,), (4,)]


def test_a_second_run_changes_nothing_and_says_so(setup: Setup) -> None:
    setup()
    before, oid = setup.catalog(), setup.database.execute("SELECT oid FROM pg_publication")
    result = setup()
    assert result.exit_code == 0
    assert [line.split(": ")[1].split(",")[0] for line in result.stdout.splitlines()] == ["already there"] * 3
    assert setup.catalog() == before
    assert setup.database.execute("SELECT oid FROM pg_publication") == oid
    assert "warning" not in result.stderr


def test_a_missing_part_is_made_and_the_others_left(setup: Setup) -> None:
    setup()
    complete = setup.catalog()
    setup.database.execute("DROP SCHEMA cdc_relay CASCADE")
    result = setup()
    assert "schema cdc_relay: created" in result.stdout
    assert result.stdout.count("already there") == 2
    assert setup.catalog() == complete


def test_a_schema_of_the_version_before_is_brought_up_to_date(setup: Setup) -> None:
    run_script(setup, "003_schema.sql")
    setup.database.execute("UPDATE cdc_relay.schema_version SET applied_at = '2020-01-01'")
    assert "schema cdc_relay: brought up to date, version 4" in setup().stdout
    migrated = setup.catalog()
    assert setup.database.execute("SELECT version FROM cdc_relay.schema_version WHERE applied_at < '2021-01-01'") == [
        (3,)
    ]
    setup.database.execute("DROP SCHEMA cdc_relay CASCADE")
    setup()
    assert setup.catalog() == migrated


def test_what_is_parked_survives_another_setup(setup: Setup) -> None:
    setup()
    with closing(open_lot(setup.database.dsn())) as lot:
        lot.park([make_entry(1)])
        setup()
        setup.database.execute("DELETE FROM cdc_relay.schema_version WHERE version = 4")
        assert "brought up to date" in setup().stdout
        assert lot.survey().live_count == 1


def test_several_tables_are_in_one_publication(setup: Setup) -> None:
    setup.database.execute(OUTBOX.format("public.commands"))
    setup.tables.append("public.commands")
    assert setup().exit_code == 0
    assert [table for _, table, _, _ in setup.catalog()["members"]] == ["commands", "outbox"]


def test_the_hint_names_the_least_role(setup: Setup) -> None:
    assert "hint: run needs less than setup" in setup().stderr


def test_setups_at_the_same_time_make_everything_once(setup: Setup) -> None:
    setup()  # writes the file
    setup.database.execute("DROP SCHEMA cdc_relay CASCADE")
    setup.database.execute("DROP PUBLICATION orders_outbox")
    setup.database.execute("SELECT pg_drop_replication_slot(%s)", [setup.slot])
    config = load(setup.path)
    outputs: list[list[str]] = []

    def run_one() -> None:
        outputs.append([notice.text for notice in admin_setup.set_up(conninfo_of(config), wanted_of(config))])

    threads = [threading.Thread(target=run_one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outputs) == 4
    assert sum(": created" in line for lines in outputs for line in lines) == 3


# --- a lot elsewhere


@pytest.fixture
def elsewhere(postgres: PostgresServer) -> Iterator[Database]:
    other = Database(postgres)
    yield other
    other.drop()


def has_schema(database: Database) -> bool:
    return bool(database.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'cdc_relay'"))


def open_lot(dsn: str) -> PostgresLot:
    lot = PostgresLot(dsn, slot="orders", limit_records=10, limit_bytes=1_000, policies={})
    lot.open()
    return lot


def test_the_schema_is_made_where_the_lot_is_and_nothing_else(setup: Setup, elsewhere: Database) -> None:
    setup.parking_dsn = elsewhere.dsn()
    result = setup()
    assert result.exit_code == 0, result.exception
    assert f"schema cdc_relay: created, version 4, in database {elsewhere.name} of parking.dsn" in result.stdout
    assert not has_schema(setup.database)
    made = read_catalog(elsewhere, setup.slot)
    assert (made["publications"], made["members"]) == ([], [])
    assert setup.slots() == [(setup.slot, "pgoutput", "logical", setup.database.name, False, False)]
    open_lot(elsewhere.dsn()).close()
    assert setup().stdout.count("already there") == 3


def test_a_lot_elsewhere_that_is_away_or_refuses_names_its_setting(setup: Setup, elsewhere: Database) -> None:
    setup.parking_dsn = elsewhere.dsn(port=1)
    assert "parking.dsn" in setup.refused(AwayError)
    setup.parking_dsn = elsewhere.dsn(elsewhere.create_role())
    assert "the role of parking.dsn" in setup.refused()


def test_printed_script_asks_where_the_lot_is_and_makes_it_there(
    setup: Setup, elsewhere: Database, tmp_path: Path
) -> None:
    setup.parking_dsn = elsewhere.dsn(password="hunter2secret")
    script = tmp_path / "setup.sql"
    script.write_text(setup("--print").stdout, encoding="utf-8")
    assert "hunter2secret" not in script.read_text(encoding="utf-8")
    server = setup.database.server
    with pytest.raises(Exception, match="psql"):
        server.psql("-f", str(script), dbname=setup.database.name)
    assert setup.database.slot_names() == []
    server.psql("-v", f"parking={elsewhere.dsn()}", "-f", str(script), dbname=setup.database.name)
    assert (has_schema(setup.database), has_schema(elsewhere)) == (False, True)
    assert setup().stdout.count("already there") == 3


# --- names


def test_hostile_names_are_only_names(setup: Setup) -> None:
    setup.database.execute(f"CREATE SCHEMA {quoted(HOSTILE)}")
    table = f"{quoted(HOSTILE)}.{quoted(HOSTILE)}"
    setup.database.execute(OUTBOX.format(table))
    setup.tables, setup.publication = [table], quoted(HOSTILE)
    result = setup()
    assert result.exit_code == 0, result.exception
    assert [row[0] for row in setup.catalog()["publications"]] == [HOSTILE]
    again = setup()
    assert again.stdout.count("already there") == 3


def test_hostile_columns_are_only_names(setup: Setup) -> None:
    setup.database.execute(f"ALTER TABLE public.outbox RENAME COLUMN payload TO {quoted(HOSTILE)}")
    setup.columns = f"{{payload: {as_yaml(quoted(HOSTILE))}}}"
    assert setup().exit_code == 0


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


# --- tables, rights and servers that do not do


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


def give_to_owner(setup: Setup, attributes: str) -> str:
    """The table to a role of its own, and the configuration to that role."""
    role = setup.database.create_role(attributes)
    setup.database.execute(f"ALTER TABLE public.outbox OWNER TO {role}")
    setup.dsn = setup.database.dsn(role)
    return role


def test_an_owner_needs_no_superuser(setup: Setup) -> None:
    role = give_to_owner(setup, "LOGIN REPLICATION")
    setup.database.execute(f"GRANT CREATE ON DATABASE {setup.database.name} TO {role}")
    assert setup().exit_code == 0
    assert setup().stdout.count("already there") == 3


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
    monkeypatch.setattr(admin_setup, "STATEMENT_LIMIT_SECONDS", 1)
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


# --- the scripts


def test_printed_script_makes_the_same_catalog_as_setup(setup: Setup, tmp_path: Path) -> None:
    setup.database.execute(OUTBOX.format("public.commands"))
    setup.tables.append("public.commands")
    script = tmp_path / "setup.sql"
    script.write_text(setup("--print").stdout, encoding="utf-8")
    assert setup().exit_code == 0
    by_setup = setup.catalog()
    undo(setup)

    setup.database.server.psql("-f", str(script), dbname=setup.database.name)
    assert setup.catalog() == by_setup
    setup.database.server.psql("-f", str(script), dbname=setup.database.name)
    assert setup.catalog() == by_setup
    assert setup().stdout.count("already there") == 3


def test_printed_script_keeps_hostile_names(setup: Setup, tmp_path: Path) -> None:
    setup.database.execute(OUTBOX.format(f"public.{quoted(HOSTILE)}"))
    setup.tables, setup.publication = [f"public.{quoted(HOSTILE)}"], quoted(HOSTILE)
    script = tmp_path / "setup.sql"
    script.write_text(setup("--print").stdout, encoding="utf-8")
    setup.database.server.psql("-f", str(script), dbname=setup.database.name)
    assert setup().stdout.count("already there") == 3


def test_print_connects_to_nothing(setup: Setup) -> None:
    setup.dsn = "host=no-such-host.invalid dbname=nothing"
    result = setup("--print")
    assert result.exit_code == 0
    assert "CREATE PUBLICATION" in result.stdout


def test_printed_script_stops_at_the_first_error(setup: Setup, tmp_path: Path) -> None:
    setup.tables = ["public.elsewhere"]
    script = tmp_path / "setup.sql"
    script.write_text(setup("--print").stdout, encoding="utf-8")
    database = setup.database
    with pytest.raises(Exception, match="psql"):
        database.server.psql("-v", "ON_ERROR_STOP=0", "-f", str(script), dbname=database.name)
    assert database.slot_names() == []


def test_scripts_by_hand_make_the_same_catalog_as_setup(setup: Setup) -> None:
    setup.database.execute(OUTBOX.format("public.commands"))
    setup.tables.append("public.commands")
    assert setup().exit_code == 0
    by_setup = setup.catalog()
    undo(setup)

    for _ in range(2):  # the second time changes nothing
        for table in setup.tables:
            run_script(setup, "001_publication.sql", f"table={table}", f"publication={setup.publication}")
        run_script(setup, "002_slot.sql", f"slot={setup.slot}")
        run_script(setup, "003_schema.sql")
        run_script(setup, "004_parking.sql")
        assert setup.catalog() == by_setup


def test_the_example_table_is_an_outbox_for_setup(setup: Setup) -> None:
    setup.database.execute("DROP TABLE public.outbox")
    run_script(setup, "000_outbox_table.sql", "table=public.outbox")
    run_script(setup, "000_outbox_table.sql", "table=public.outbox")
    assert setup().exit_code == 0


def run_script(setup: Setup, name: str, *variables: str) -> None:
    given = [argument for variable in variables for argument in ("-v", variable)]
    setup.database.server.psql(*given, "-f", str(ROOT / "sql" / name), dbname=setup.database.name)


def undo(setup: Setup) -> None:
    setup.database.execute("DROP SCHEMA cdc_relay CASCADE")
    setup.database.execute("DROP PUBLICATION orders_outbox")
    setup.database.execute("SELECT pg_drop_replication_slot(%s)", [setup.slot])


# --- docs/privileges.md


@pytest.fixture
def documented_role(setup: Setup) -> Iterator[str]:
    """The table in a schema closed to all, set up, and the role made by the SQL of docs/privileges.md."""
    database, role = setup.database, f"{setup.database.name}_relay"
    database.execute(f"REVOKE ALL ON DATABASE {database.name} FROM PUBLIC")
    database.execute("CREATE SCHEMA closed")
    database.execute("ALTER TABLE public.outbox SET SCHEMA closed")
    setup.tables = ["closed.outbox"]
    assert setup().exit_code == 0
    for statement in documented_sql("## run").split(";\n"):
        database.execute(re.sub(r"\brelay\b", role, re.sub(r"\borders\b", database.name, statement)))
    yield role
    database.execute(f"DROP OWNED BY {role}")
    database.execute(f"DROP ROLE {role}")


def documented_sql(heading: str) -> str:
    text = (ROOT / "docs" / "privileges.md").read_text(encoding="utf-8")
    return text.partition(f"\n{heading}\n")[2].partition("```sql\n")[2].partition("```")[0].strip()


def test_the_documented_role_passes_the_checks_of_run(setup: Setup, documented_role: str) -> None:
    setup.dsn = setup.database.dsn(documented_role)
    setup("--print")  # writes the file
    config = load(setup.path)
    wanted = wanted_of(config)
    with closing(Line.open(conninfo_of(config))) as line:
        facts = read_facts(line, slot=wanted.slot, publication=wanted.publication, tables=[("closed", "outbox")])
    assert list(find_problems(facts, wanted)) == []


def test_the_documented_role_reads_the_slot_without_rights_on_the_table(setup: Setup, documented_role: str) -> None:
    setup.database.execute(f"INSERT INTO closed.outbox VALUES {ROW}")
    line = pq.PGconn.connect(setup.database.dsn(documented_role, replication="database").encode())
    try:
        options = f"proto_version '1', publication_names '{setup.publication}'"
        started = line.exec_(f"START_REPLICATION SLOT {setup.slot} LOGICAL 0/0 ({options})".encode())
        assert started.status == pq.ExecStatus.COPY_BOTH, started.get_error_message()
        wait_until(lambda: b"aggregatetype" in bytes(line.get_copy_data(0)[1]), timeout=30, what="the row arrives")
    finally:
        line.finish()
    with pytest.raises(psycopg.errors.InsufficientPrivilege), setup.database.connect(user=documented_role) as conn:
        conn.execute("SELECT FROM closed.outbox")


def test_the_documented_role_may_use_the_lot_and_delete_nothing(setup: Setup, documented_role: str) -> None:
    with closing(open_lot(setup.database.dsn(documented_role))) as lot:
        lot.take_over(0)
        lot.park([make_entry(1)])
        assert len(due(lot)) == 1
        lot.end_run()
    with pytest.raises(psycopg.errors.InsufficientPrivilege), setup.database.connect(user=documented_role) as conn:
        conn.execute("DELETE FROM cdc_relay.parked_records")


def test_the_documented_person_on_call_may_change_the_lot(setup: Setup) -> None:
    assert setup().exit_code == 0
    role = setup.database.create_role("NOLOGIN")
    statements = [each for each in documented_sql("## dlq").split(";\n") if not each.startswith("CREATE ROLE")]
    for statement in statements:
        setup.database.execute(re.sub(r"\bon_call\b", role, re.sub(r"\borders\b", setup.database.name, statement)))
    setup.database.execute(f"ALTER ROLE {role} LOGIN")
    with setup.database.connect(user=role) as conn:
        conn.execute("SELECT FROM cdc_relay.dead_letters")
        conn.execute("UPDATE cdc_relay.parked_records SET status = 'discarded'")


def test_the_documented_owner_may_run_setup(setup: Setup) -> None:
    role = give_to_owner(setup, "LOGIN")
    for statement in documented_sql("## setup").split(";\n"):
        setup.database.execute(statement.replace("orders_owner", role).replace("orders", setup.database.name))
    assert setup().exit_code == 0
