"""`cdc-relay check` and servers with standbys: failover slots, what must follow them, and a standby in the DSN."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fixtures.fix_postgres import MakePostgres, PostgresServer
from tests.fixtures.fix_relay import MakePipeline
from tests.fixtures.postgres_install import Install
from tests.fixtures.process import wait_until
from tests.integration.check_rig import Check

pytestmark = pytest.mark.kafka

STANDBY_SLOT = "standby_one"
MakeStandby = Callable[[PostgresServer], PostgresServer]


@pytest.fixture
def make_standby(postgres_install: Install) -> Iterator[MakeStandby]:
    """A streaming standby of the server, with a slot of its own there."""
    standbys: list[PostgresServer] = []

    def make(primary: PostgresServer) -> PostgresServer:
        standby = PostgresServer(postgres_install)
        standbys.append(standby)
        copy = ["-d", primary.dsn(), "-D", str(standby.data_dir), "-C", "-S", STANDBY_SLOT, "-R", "-c", "fast"]
        if postgres_install.user is not None:
            subprocess.run(["chown", "-R", postgres_install.user, str(standby.directory)], check=True)
        command = [str(standby.bindir / "pg_basebackup"), *copy, "--no-sync"]
        subprocess.run(command, check=True, capture_output=True, timeout=120, user=postgres_install.user)
        standby.start()
        return standby

    yield make
    for standby in standbys:
        standby.destroy()


def test_a_slot_that_a_failover_would_lose_is_made_a_failover_slot_as_printed(
    make_postgres: MakePostgres, make_standby: MakeStandby, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    primary = make_postgres()
    pipeline = make_pipeline(server=primary)
    check = Check.without_kafka(pipeline, tmp_path)
    if primary.version < 17:
        assert check.of("postgres.slot.failover") == []
        return
    assert check.is_fine("postgres.slot.failover")
    make_standby(primary)
    wait_until(lambda: not check.is_fine("postgres.slot.failover"), timeout=60, what="the standby is seen")
    assert check.is_fine("postgres.synchronized_standby_slots")
    assert STANDBY_SLOT in check.repair("postgres.slot.failover", "warn")["found"]
    assert STANDBY_SLOT in check.repair("postgres.synchronized_standby_slots", "warn")["found"]


def test_a_standby_fails_and_the_primary_beside_it_in_the_dsn_repairs_it(
    make_postgres: MakePostgres, make_standby: MakeStandby, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    primary = make_postgres()
    pipeline = make_pipeline(server=primary)
    standby = make_standby(primary)
    both = f"host=127.0.0.1,127.0.0.1 port={standby.port},{primary.port} dbname={pipeline.database.name} user=postgres"
    check = Check.without_kafka(pipeline, tmp_path, dsn=both)
    [step] = check.bad("postgres.primary", "fail")["fix"]
    assert "target_session_attrs=read-write" in step["text"]
    check.config["source"]["dsn"] = f"{both} target_session_attrs=read-write"
    assert check.is_fine("postgres.primary")
