"""setup's SQL, printed or from the files, run by psql: it makes what setup makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdc_relay.sources.schema import SCHEMA_SCRIPTS
from tests.fixtures.fix_postgres import Database
from tests.integration.setup_rig import HOSTILE, OUTBOX, Setup, quoted, run_script, undo

pytestmark = pytest.mark.core


@pytest.fixture
def setup(database: Database, tmp_path: Path) -> Setup:
    database.execute(OUTBOX.format("public.outbox"))
    return Setup(database, tmp_path / "relay.yaml")


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
        for script in SCHEMA_SCRIPTS.values():
            run_script(setup, script)
        assert setup.catalog() == by_setup


def test_the_example_table_is_an_outbox_for_setup(setup: Setup) -> None:
    setup.database.execute("DROP TABLE public.outbox")
    run_script(setup, "000_outbox_table.sql", "table=public.outbox")
    run_script(setup, "000_outbox_table.sql", "table=public.outbox")
    assert setup().exit_code == 0
