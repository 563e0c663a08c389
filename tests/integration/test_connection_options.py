"""What a DSN can say, and what stands beside it: hosts, services and passwords, with the real relay."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cdc_relay.sources.conninfo import catalog_conninfo, replication_conninfo
from cdc_relay.sources.line import Line
from tests.fixtures.fix_postgres import Database, MakePostgres, PostgresServer
from tests.fixtures.fix_relay import MakePipeline, MakeRelay, Pipeline
from tests.fixtures.outbox import make_slot
from tests.fixtures.postgres_install import Install
from tests.fixtures.scratch import free_port
from tests.integration.connection_rig import PASSWORD, ROLE, admit, assert_it_delivers, make_role

pytestmark = pytest.mark.kafka

BOTH_LINES = pytest.mark.parametrize("make_conninfo", [replication_conninfo, catalog_conninfo])


# --- where


@pytest.mark.core
def test_a_closed_host_is_passed_over_for_the_next(pipeline: Pipeline) -> None:
    ports = f"{free_port()},{pipeline.database.server.port}"
    relay = pipeline.start_relay(ready=False, dsn=pipeline.dsn(host="127.0.0.1,127.0.0.1", port=ports))
    assert_it_delivers(pipeline, relay)


@pytest.mark.core
def test_a_read_only_host_is_passed_over_where_the_dsn_wants_to_write(
    pipeline: Pipeline, make_postgres: MakePostgres
) -> None:
    read_only = make_postgres(default_transaction_read_only=True)
    with read_only.connect() as conn:
        conn.execute("SET default_transaction_read_only = off")
        conn.execute(f"CREATE DATABASE {pipeline.database.name}")
    place = {"host": "127.0.0.1,127.0.0.1", "port": f"{read_only.port},{pipeline.database.server.port}"}
    relay = pipeline.start_relay(ready=False, dsn=pipeline.dsn(**place, target_session_attrs="read-write"))
    assert_it_delivers(pipeline, relay)


@pytest.mark.core
def test_a_unix_socket_is_a_host_too(pipeline: Pipeline) -> None:
    dsn = pipeline.dsn(host=str(pipeline.database.server.directory))
    assert_it_delivers(pipeline, pipeline.start_relay(ready=False, dsn=dsn))


# --- by which name


@pytest.mark.core
@pytest.mark.parametrize("length", [20, 63], ids=["short", "long"])
def test_the_relay_is_known_by_the_name_of_its_slot(pipeline: Pipeline, length: int) -> None:
    slot = pipeline.slot.ljust(length, "x")
    with pipeline.database.connect() as conn:
        make_slot(conn, slot, f"{pipeline.publication}_2")
    dsn = pipeline.dsn(application_name="mine")
    relay = pipeline.start_relay(dsn=dsn, source={"slot": slot, "publication": f"{pipeline.publication}_2"})
    names = pipeline.database.execute(
        "SELECT application_name FROM pg_stat_replication JOIN pg_replication_slots ON pid = active_pid"
        " WHERE slot_name = %s",
        [slot],
    )
    assert names == [(f"cdc-relay:{slot}"[:63],)]
    assert relay.stop() == 0


# --- service files and the environment


def service_file(directory: Path, **parameters: str | int) -> dict[str, str]:
    """The environment in which `service=shop` is known."""
    file = directory / "pg_service.conf"
    file.write_text("[shop]\n" + "".join(f"{name}={value}\n" for name, value in parameters.items()))
    return {"PGSERVICEFILE": str(file)}


def use_environment(monkeypatch: pytest.MonkeyPatch, env: dict[str, str]) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)


@pytest.mark.core
def test_a_service_says_it_all(pipeline: Pipeline, make_relay: MakeRelay, tmp_path: Path) -> None:
    server = pipeline.database.server
    env = service_file(tmp_path, host="127.0.0.1", port=server.port, dbname=pipeline.database.name, user=pipeline.role)
    assert_it_delivers(pipeline, make_relay(pipeline.config(dsn="service=shop"), env=env))


@pytest.mark.core
def test_the_dsn_wins_over_its_service(pipeline: Pipeline, make_relay: MakeRelay, tmp_path: Path) -> None:
    env = service_file(tmp_path, host="127.0.0.1", port=free_port(), dbname="postgres", user="nobody")
    dsn = f"service=shop {pipeline.dsn()}"
    assert_it_delivers(pipeline, make_relay(pipeline.config(dsn=dsn), env=env))


@pytest.mark.core
def test_the_environment_fills_what_the_dsn_leaves_out(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    server = pipeline.database.server
    env = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGDATABASE": pipeline.database.name}
    assert_it_delivers(pipeline, make_relay(pipeline.config(dsn=f"postgresql://{pipeline.role}@"), env=env))


@pytest.mark.core
@BOTH_LINES
def test_what_a_service_file_says_stays(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_conninfo: Callable[..., str]
) -> None:
    said = {"connect_timeout": "7", "keepalives_idle": "77", "options": "-c work_mem=7777kB"}
    place = {"host": "127.0.0.1", "port": str(database.server.port), "dbname": database.name, "user": "postgres"}
    use_environment(monkeypatch, service_file(tmp_path, **place, **said))
    line = Line.open(make_conninfo("service=shop", password=None, slot="orders", silence_seconds=5))
    assert line.query("SHOW work_mem") == [("7777kB",)]
    used = {option.keyword.decode(): (option.val or b"").decode() for option in line.pgconn.info}
    line.close()
    assert used.items() >= said.items()


@pytest.mark.core
@BOTH_LINES
def test_what_pgoptions_says_stays(
    database: Database, monkeypatch: pytest.MonkeyPatch, make_conninfo: Callable[..., str]
) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=7777kB")
    line = Line.open(make_conninfo(database.dsn(), password=None, slot="orders", silence_seconds=5))
    assert line.query("SHOW work_mem") == [("7777kB",)]
    line.close()


# --- passwords, on a server that wants them by SCRAM


@pytest.fixture(scope="module")
def scram(postgres_install: Install) -> Iterator[PostgresServer]:
    server = PostgresServer(postgres_install, password_encryption="scram-sha-256")
    try:
        server.start()
        make_role(server)
        admit(server, f"host all {ROLE} 127.0.0.1/32 scram-sha-256")
        yield server
    finally:
        server.destroy()


@pytest.fixture
def guarded(scram: PostgresServer, make_pipeline: MakePipeline) -> Iterator[Pipeline]:
    pipeline = make_pipeline(server=scram)
    pipeline.database.grant_schema(ROLE)
    yield pipeline
    pipeline.database.drop()  # the server is the module's


@pytest.mark.core
def test_the_password_may_be_in_the_dsn(guarded: Pipeline) -> None:
    dsn = guarded.database.dsn(ROLE, password=PASSWORD)
    assert_it_delivers(guarded, guarded.start_relay(ready=False, dsn=dsn))


@pytest.mark.core
def test_the_password_may_stand_beside_the_dsn(guarded: Pipeline) -> None:
    relay = guarded.start_relay(ready=False, dsn=guarded.database.dsn(ROLE), source={"password": PASSWORD})
    assert_it_delivers(guarded, relay)


@pytest.mark.core
def test_the_password_may_come_from_a_file_beside_the_dsn(guarded: Pipeline, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{PASSWORD}\n")
    password = f"${{file:{secret}}}"
    relay = guarded.start_relay(ready=False, dsn=guarded.database.dsn(ROLE), source={"password": password})
    assert_it_delivers(guarded, relay)


@pytest.mark.core
def test_the_password_may_be_in_the_environment(guarded: Pipeline, make_relay: MakeRelay) -> None:
    config = guarded.config(dsn=guarded.database.dsn(ROLE))
    assert_it_delivers(guarded, make_relay(config, env={"PGPASSWORD": PASSWORD}))


@pytest.mark.core
def test_the_password_may_be_in_a_passfile(guarded: Pipeline, tmp_path: Path) -> None:
    passfile = tmp_path / "pgpass"
    escaped = re.sub(r"([\\:])", r"\\\1", PASSWORD)
    passfile.write_text(f"127.0.0.1:{guarded.database.server.port}:*:{ROLE}:{escaped}\n")
    passfile.chmod(0o600)
    dsn = guarded.database.dsn(ROLE, passfile=str(passfile))
    assert_it_delivers(guarded, guarded.start_relay(ready=False, dsn=dsn))


@pytest.mark.core
def test_the_password_may_be_in_a_service_file(guarded: Pipeline, make_relay: MakeRelay, tmp_path: Path) -> None:
    env = service_file(tmp_path, user=ROLE, password=PASSWORD)
    server = guarded.database.server
    dsn = f"service=shop host=127.0.0.1 port={server.port} dbname={guarded.database.name}"
    assert_it_delivers(guarded, make_relay(guarded.config(dsn=dsn), env=env))
