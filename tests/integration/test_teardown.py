"""`cdc-relay teardown` shows what would be lost, takes down what setup made, and touches nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cdc_relay.admin import teardown_facts
from cdc_relay.cli import output
from cdc_relay.errors import ConfigError
from tests.fixtures.fix_postgres import Database
from tests.integration.setup_rig import OUTBOX, ROW, Setup
from tests.integration.teardown_rig import Ground, left_in, park, remember

NOTHING: dict[str, Any] = {"publications": [], "slot": [], "rows": {}}


@pytest.fixture
def ground(database: Database, tmp_path: Path) -> Ground:
    database.execute(OUTBOX.format("public.outbox"))
    return Ground(Setup(database, tmp_path / "relay.yaml"))


@pytest.fixture
def elsewhere(database: Database) -> Iterator[Database]:
    other = Database(database.server)
    yield other
    other.drop()


# --- what goes


@pytest.mark.core
def test_all_that_setup_made_goes_and_the_outbox_stays(ground: Ground) -> None:
    ground.database.execute(f"INSERT INTO outbox VALUES {ROW}")
    remember(ground.database, ground.slot)
    park(ground.database, ground.slot, "retrying", "dead")
    assert ground.ok("--yes", "--lot").splitlines()[-3:] == [
        f"schema cdc_relay in database {ground.database.name}: dropped",
        "publication orders_outbox: dropped",
        f"slot {ground.slot}: dropped",
    ]
    assert ground.left() == NOTHING
    assert ground.database.execute("SELECT nspname FROM pg_namespace WHERE nspname = 'cdc_relay'") == []
    assert ground.database.execute("SELECT count(*) FROM outbox") == [(1,)]


@pytest.mark.core
def test_without_the_lot_only_what_is_about_the_slot_goes(ground: Ground) -> None:
    for slot in (ground.slot, "another"):
        remember(ground.database, slot)
        park(ground.database, slot, "retrying")
    ground.ok("--yes")
    assert ground.left() == {
        "publications": [],
        "slot": [],
        "rows": {
            "gaps": ["another"],
            "guard": ["another"],
            "parked_records": sorted(["another", ground.slot]),
            "replays": ["another"],
            "runs": sorted(["another", ground.slot]),
        },
    }


def test_the_lot_of_another_slot_stays(ground: Ground) -> None:
    for slot in (ground.slot, "another"):
        park(ground.database, slot, "dead", "published")
    shown = ground.ok("--yes", "--lot")
    assert "schema cdc_relay stays for other slots: another" in shown
    assert ground.left()["rows"] == {
        "gaps": [],
        "guard": [],
        "parked_records": ["another", "another"],
        "replays": [],
        "runs": ["another"],
    }


def test_a_lot_in_another_database_goes_there(ground: Ground, elsewhere: Database) -> None:
    ground.setup.parking_dsn = elsewhere.dsn()
    assert ground.setup().exit_code == 0
    park(elsewhere, ground.slot, "retrying")
    shown = ground.ok("--yes", "--lot")
    assert f"lot in database {elsewhere.name}: 1 retrying; goes" in shown
    assert left_in(elsewhere, ground.slot)["rows"] == {}
    assert ground.left() == NOTHING


def test_without_the_lot_another_database_is_left_alone(ground: Ground, elsewhere: Database) -> None:
    ground.setup.parking_dsn = elsewhere.dsn()
    assert ground.setup().exit_code == 0
    park(elsewhere, ground.slot, "retrying")
    assert "--lot takes it down too" in ground.ok("--yes")
    assert left_in(elsewhere, ground.slot)["rows"] == {"parked_records": [ground.slot], "runs": [ground.slot]}


@pytest.mark.core
def test_it_can_be_repeated_and_setup_can_follow(ground: Ground) -> None:
    ground.ok("--yes", "--lot")
    assert ground.ok("--yes", "--lot").splitlines()[-1] == "nothing to do"
    assert ground.setup().exit_code == 0
    ground.ok("--yes", "--lot")
    assert ground.left() == NOTHING


@pytest.mark.parametrize(
    "gone",
    ["SELECT pg_drop_replication_slot('{slot}')", "DROP PUBLICATION orders_outbox", "DROP SCHEMA cdc_relay CASCADE"],
    ids=["slot", "publication", "schema"],
)
def test_what_is_left_of_a_setup_goes(ground: Ground, gone: str) -> None:
    ground.database.execute(gone.format(slot=ground.slot))
    assert "not there" in ground.ok("--yes", "--lot")
    assert ground.left() == NOTHING


# --- what is shown


@pytest.mark.core
def test_what_would_be_lost_is_shown_and_a_dry_run_changes_nothing(ground: Ground) -> None:
    for _ in range(3):
        ground.database.execute(f"INSERT INTO outbox VALUES {ROW}")
    remember(ground.database, ground.slot)
    park(ground.database, ground.slot, "retrying", "retrying", "scheduled", "dead", "published")
    before = ground.left()
    shown = ground.ok("--dry-run", "--lot")
    assert "bytes of WAL are unconfirmed: 3 events in them would not be published" in shown
    assert "1 dead, 1 published, 2 retrying, 1 scheduled; goes" in shown
    assert "4 records of them would never be published; to keep them: cdc-relay dlq export -c FILE" in shown
    assert f"what schema cdc_relay remembers of slot {ground.slot}: goes with it (gaps 1, guard 1, replays 1)" in shown
    assert "the outbox tables and their rows are not touched" in shown
    assert ground.left() == before
    assert "4 records of them would wait until a relay reads" in ground.ok("--dry-run")


def test_a_slot_with_nothing_in_it_says_so(ground: Ground) -> None:
    assert "with no event in them" in ground.ok("--dry-run")


def test_the_publication_s_other_readers_are_named(ground: Ground) -> None:
    ground.database.execute("CREATE TABLE audit (id int)")
    ground.database.execute("ALTER PUBLICATION orders_outbox ADD TABLE audit")
    other = f"{ground.slot}_2"
    ground.database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [other])
    shown = ground.ok("--dry-run")
    assert "it also has public.audit: whoever reads those through it gets nothing more" in shown
    assert f"other slots of this database, which may be read through it: {other}" in shown


def test_json_has_the_facts_and_what_was_done(ground: Ground) -> None:
    ground.database.execute(f"INSERT INTO outbox VALUES {ROW}")
    dry = json.loads(ground.ok("--dry-run", "--json"))
    assert (dry["found"]["waiting_rows"], dry["done"]) == (1, [])
    done = json.loads(ground.ok("--yes", "--json"))["done"]
    assert done[-1] == f"slot {ground.slot}: dropped"


@pytest.mark.core
def test_the_role_of_run_may_look(ground: Ground) -> None:
    ground.database.execute(f"INSERT INTO outbox VALUES {ROW}")
    ground.setup.dsn = ground.database.dsn(ground.database.create_relay_role())
    assert "1 event in them would not be published" in ground.ok("--dry-run", "--lot")


# --- who is asked


def test_where_nobody_can_be_asked_it_takes_yes(ground: Ground) -> None:
    before = ground.left()
    result = ground()
    assert isinstance(result.exception, ConfigError)
    assert "--yes" in str(result.exception)
    assert ground.left() == before


@pytest.mark.parametrize(("answer", "exit_code"), [("n\n", 1), ("y\n", 0)])
def test_on_a_terminal_it_asks(ground: Ground, monkeypatch: pytest.MonkeyPatch, answer: str, exit_code: int) -> None:
    monkeypatch.setattr(output, "has_terminal", lambda: True)
    result = ground("--lot", stdin=answer)
    assert f"take down slot {ground.slot} and what belongs to it, as shown? [y/N]" in result.stderr
    assert result.exit_code == exit_code
    assert (ground.left() == NOTHING) == (answer == "y\n")


def test_a_backlog_that_takes_too_long_to_count_does_not_keep_the_slot(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server itself ends the count: a client that only stopped waiting would leave the slot active."""
    monkeypatch.setattr(teardown_facts, "_PEEK_SECONDS", 0.005)
    ground.database.execute(
        "INSERT INTO outbox SELECT gen_random_uuid(), 'order', '1', 'created', '{}' FROM generate_series(1, 20000)"
    )
    assert "events in them could not be counted" in ground.ok("--yes", "--lot")
    assert ground.left() == NOTHING
