"""setup on a real Postgres: what it makes, where, under which names; and that it makes nothing twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cdc_relay.admin import setup as admin_setup  # pytest would call a `setup_module`
from cdc_relay.config import load
from cdc_relay.errors import AwayError
from cdc_relay.sources.schema import AT_LOT, NEWEST, SCHEMA_SCRIPTS
from cdc_relay.target import conninfo_of, wanted_of
from tests.fixtures.fix_postgres import Database, PostgresServer
from tests.integration.lots import make_entry
from tests.integration.setup_rig import HOSTILE, OUTBOX, Setup, as_yaml, open_lot, quoted, read_catalog, run_script

pytestmark = pytest.mark.core


@pytest.fixture
def setup(database: Database, tmp_path: Path) -> Setup:
    database.execute(OUTBOX.format("public.outbox"))
    return Setup(database, tmp_path / "relay.yaml")


# --- what it makes


def test_publication_slot_and_schema_are_made_in_this_order(setup: Setup) -> None:
    result = setup()
    assert result.exit_code == 0, result.output
    publication, slot, schema, guard = result.stdout.splitlines()
    assert publication == "publication orders_outbox: created for public.outbox"
    assert slot.startswith(f"slot {setup.slot}: created, confirmed up to ")
    assert schema == f"schema cdc_relay: created, version {NEWEST}"
    assert guard.startswith("slot guard: begun at ")
    made = setup.catalog()
    assert made["publications"] == [("orders_outbox", False, True, False, False, False, True)]
    assert made["members"] == [("orders_outbox", "outbox", None, None)]
    assert made["slot"] == [(setup.slot, "pgoutput", "logical", setup.database.name, False, False)]
    assert made["versions"] == [(version,) for version in SCHEMA_SCRIPTS]


def test_a_second_run_changes_nothing_and_says_so(setup: Setup) -> None:
    setup()
    before, oid = setup.catalog(), setup.database.execute("SELECT oid FROM pg_publication")
    result = setup()
    assert result.exit_code == 0
    assert [line.split(": ")[1].split(",")[0] for line in result.stdout.splitlines()] == ["already there"] * 4
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
    assert f"schema cdc_relay: brought up to date, version {NEWEST}" in setup().stdout
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


def tables(database: Database) -> list[str]:
    rows = database.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'cdc_relay'::regnamespace AND relkind IN ('r', 'v')"
        " ORDER BY 1"
    )
    return [name for (name,) in rows]


def test_the_lot_is_made_elsewhere_and_the_guard_beside_the_slot(setup: Setup, elsewhere: Database) -> None:
    setup.parking_dsn = elsewhere.dsn()
    result = setup()
    assert result.exit_code == 0, result.exception
    assert (
        f"schema cdc_relay: created, version {max(AT_LOT)}, in database {elsewhere.name} of parking.dsn"
        in result.stdout
    )
    assert tables(setup.database) == ["gaps", "guard", "replays", "schema_version"]
    assert tables(elsewhere) == ["dead_letters", "parked_records", "runs", "schema_version"]
    made = read_catalog(elsewhere, setup.slot)
    assert (made["publications"], made["members"]) == ([], [])
    assert setup.slots() == [(setup.slot, "pgoutput", "logical", setup.database.name, False, False)]
    open_lot(elsewhere.dsn()).close()
    assert setup().stdout.count("already there") == 5


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
    assert ("guard" in tables(setup.database), "parked_records" in tables(elsewhere)) == (True, True)
    assert setup().stdout.count("already there") == 4


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
    assert again.stdout.count("already there") == 4


def test_hostile_columns_are_only_names(setup: Setup) -> None:
    setup.database.execute(f"ALTER TABLE public.outbox RENAME COLUMN payload TO {quoted(HOSTILE)}")
    setup.columns = f"{{payload: {as_yaml(quoted(HOSTILE))}}}"
    assert setup().exit_code == 0
