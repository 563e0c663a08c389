"""The slot that `setup` makes outlives a failover of Postgres where the server can do that (17 and newer)."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.fixtures.fix_postgres import Database
from tests.integration.setup_rig import OUTBOX, Setup, give_to_owner, run_script

FAILOVER = "SELECT to_jsonb(s) ->> 'failover' FROM pg_replication_slots s WHERE slot_name = %s"


@pytest.fixture
def setup(database: Database, tmp_path: Path) -> Setup:
    database.execute(OUTBOX.format("public.outbox"))
    return Setup(database, tmp_path / "relay.yaml")


def wanted(setup: Setup) -> list[tuple[str | None]]:
    return [("true",)] if setup.database.server.version >= 17 else [(None,)]


@pytest.mark.core
def test_the_slot_is_a_failover_slot_where_there_are_such(setup: Setup) -> None:
    give_to_owner(setup, "LOGIN REPLICATION")
    setup.database.execute(f"GRANT CREATE ON DATABASE {setup.database.name} TO PUBLIC")
    result = setup()
    assert result.exit_code == 0, (result.output, result.exception)
    assert setup.database.execute(FAILOVER, [setup.slot]) == wanted(setup)
    assert "without failover" not in result.stderr


@pytest.mark.core
def test_the_script_makes_the_same_slot_by_hand(setup: Setup) -> None:
    run_script(setup, "002_slot.sql", f"slot={setup.slot}")
    run_script(setup, "002_slot.sql", f"slot={setup.slot}")
    assert setup.database.execute(FAILOVER, [setup.slot]) == wanted(setup)


@pytest.mark.core
def test_an_older_slot_is_left_alone_and_the_printed_command_changes_it(setup: Setup) -> None:
    setup.database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [setup.slot])
    setup.dsn = setup.database.dsn(password="secret")
    result = setup()
    assert result.exit_code == 0
    if setup.database.server.version < 17:
        assert "without failover" not in result.stderr
        return
    assert setup.database.execute(FAILOVER, [setup.slot]) == [("false",)]
    [command] = re.findall(
        r"^hint: slot .* was made without failover.* stop the relay and run: (.*)$", result.stderr, re.M
    )
    assert "secret" not in command
    run_in_a_shell(setup, command)
    assert setup.database.execute(FAILOVER, [setup.slot]) == [("true",)]
    assert "without failover" not in setup().stderr


def run_in_a_shell(setup: Setup, command: str) -> None:
    server = setup.database.server
    env = {**os.environ, "PATH": f"{server.bindir}:{os.environ['PATH']}"}
    subprocess.run(command, shell=True, check=True, env=env, capture_output=True, timeout=60)
