"""What a DSN can say, and what stands beside it: hosts, services, passwords and TLS, with the real relay."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cdc_relay.sources.conninfo import catalog_conninfo, replication_conninfo
from cdc_relay.sources.line import Line
from tests.fixtures.fix_postgres import Database, MakePostgres, PostgresServer
from tests.fixtures.fix_relay import MakePipeline, MakeRelay, Pipeline, RelayProcess
from tests.fixtures.outbox import make_slot
from tests.fixtures.postgres_install import Install, find_install
from tests.fixtures.process import wait_until
from tests.fixtures.scratch import free_port

pytestmark = pytest.mark.kafka

ROLE, PASSWORD = "relay", "s3same:/@\\ 4711"
BOTH_LINES = pytest.mark.parametrize("make_conninfo", [replication_conninfo, catalog_conninfo])


def assert_it_delivers(pipeline: Pipeline, relay: RelayProcess) -> None:
    relay.wait_ready()
    event_id = pipeline.insert()
    [record] = pipeline.wait_for_records(1)
    assert record.headers() == [("id", event_id.encode())]
    assert PASSWORD not in relay.stderr + relay.stdout


# --- where


@pytest.mark.core
def test_a_closed_host_is_passed_over_for_the_next(pipeline: Pipeline) -> None:
    ports = f"{free_port()},{pipeline.database.server.port}"
    relay = pipeline.start_relay(ready=False, dsn=pipeline.database.dsn(host="127.0.0.1,127.0.0.1", port=ports))
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
    relay = pipeline.start_relay(ready=False, dsn=pipeline.database.dsn(**place, target_session_attrs="read-write"))
    assert_it_delivers(pipeline, relay)


@pytest.mark.core
def test_a_unix_socket_is_a_host_too(pipeline: Pipeline) -> None:
    dsn = pipeline.database.dsn(host=str(pipeline.database.server.directory))
    assert_it_delivers(pipeline, pipeline.start_relay(ready=False, dsn=dsn))


# --- by which name


@pytest.mark.core
@pytest.mark.parametrize("length", [20, 63], ids=["short", "long"])
def test_the_relay_is_known_by_the_name_of_its_slot(pipeline: Pipeline, length: int) -> None:
    slot = pipeline.slot.ljust(length, "x")
    with pipeline.database.connect() as conn:
        make_slot(conn, slot, f"{pipeline.publication}_2")
    dsn = pipeline.database.dsn(application_name="mine")
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
    env = service_file(tmp_path, host="127.0.0.1", port=server.port, dbname=pipeline.database.name, user="postgres")
    assert_it_delivers(pipeline, make_relay(pipeline.config(dsn="service=shop"), env=env))


@pytest.mark.core
def test_the_dsn_wins_over_its_service(pipeline: Pipeline, make_relay: MakeRelay, tmp_path: Path) -> None:
    env = service_file(tmp_path, host="127.0.0.1", port=free_port(), dbname="postgres", user="nobody")
    dsn = f"service=shop {pipeline.database.dsn()}"
    assert_it_delivers(pipeline, make_relay(pipeline.config(dsn=dsn), env=env))


@pytest.mark.core
def test_the_environment_fills_what_the_dsn_leaves_out(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    server = pipeline.database.server
    env = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGDATABASE": pipeline.database.name}
    assert_it_delivers(pipeline, make_relay(pipeline.config(dsn="postgresql://postgres@"), env=env))


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


def make_role(server: PostgresServer) -> None:
    server.execute(f"CREATE ROLE {ROLE} LOGIN REPLICATION PASSWORD '{PASSWORD}'")


def admit(server: PostgresServer, *lines: str) -> None:
    """The tests' own superuser, and those; nobody else."""
    ours = ["host all postgres 127.0.0.1/32 trust", *lines]
    (server.data_dir / "pg_hba.conf").write_text("".join(f"{line}\n" for line in ours))
    server.configure()
    loaded = "SELECT count(*) FROM pg_hba_file_rules"
    wait_until(lambda: server.execute(loaded) == [(len(ours),)], timeout=30, what="pg_hba.conf is loaded")


@pytest.fixture
def guarded(scram: PostgresServer, make_pipeline: MakePipeline) -> Iterator[Pipeline]:
    pipeline = make_pipeline(server=scram)
    pipeline.grant_lot(ROLE)
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


# --- TLS, on Debian's Postgres: the wheel's is built without

TLS_VERSION = 15


class TlsServer:
    """A server that lets the relay in with TLS only, and the certificate that proves who it is."""

    def __init__(self, install: Install) -> None:
        self.server = PostgresServer(install)
        self.certificate = self.server.directory / "server.crt"
        self.stranger = self.server.directory / "stranger.crt"

    def start(self) -> None:
        self.server.start()
        make_role(self.server)
        key = make_certificate(self.certificate)
        make_certificate(self.stranger)
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            shutil.chown(key, owner.pw_uid, owner.pw_gid)
        self.server.configure(ssl=True, ssl_cert_file=str(self.certificate), ssl_key_file=str(key))
        admit(self.server, f"hostssl all {ROLE} 127.0.0.1/32 scram-sha-256")


def make_certificate(certificate: Path) -> Path:
    """Self-signed for localhost; its key's file."""
    key = certificate.with_suffix(".key")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    certificate.chmod(0o644)
    key.chmod(0o600)
    return key


@pytest.fixture(scope="module")
def tls_server() -> Iterator[TlsServer]:
    install = find_install(TLS_VERSION)
    lacking = install if isinstance(install, str) else "" if shutil.which("openssl") else "no openssl on this machine"
    if lacking or isinstance(install, str):
        if os.environ.get("CI") == "true":
            pytest.fail(f"{lacking}; with CI=true it must be there")
        pytest.skip(lacking)
    tls = TlsServer(install)
    try:
        tls.start()
        yield tls
    finally:
        tls.server.destroy()


@pytest.fixture
def encrypted(tls_server: TlsServer, make_pipeline: MakePipeline) -> Iterator[Pipeline]:
    pipeline = make_pipeline(server=tls_server.server)
    pipeline.grant_lot(ROLE)
    yield pipeline
    pipeline.database.drop()


def start_tls_relay(pipeline: Pipeline, *arguments: str, **params: str) -> RelayProcess:
    """localhost by name, so that there is a name to verify."""
    place = {"host": "localhost", "hostaddr": "127.0.0.1", "password": PASSWORD}
    dsn = pipeline.database.dsn(ROLE, **{**place, **params})
    return pipeline.start_relay(*arguments, ready=False, dsn=dsn)


def assert_it_is_encrypted(pipeline: Pipeline) -> None:
    lines = pipeline.database.execute(
        "SELECT application_name, ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)"
        " WHERE application_name LIKE 'cdc-relay:%' ORDER BY 1"
    )
    name = f"cdc-relay:{pipeline.slot}"
    assert lines == [(name, True), (f"{name}:catalog", True), (f"{name}:lot", True)]


@pytest.mark.parametrize("mode", ["require", "prefer", "allow"])
def test_all_lines_are_encrypted_where_the_server_wants_it(encrypted: Pipeline, mode: str) -> None:
    assert_it_delivers(encrypted, start_tls_relay(encrypted, sslmode=mode))
    assert_it_is_encrypted(encrypted)


def test_verify_full_accepts_the_certificate_that_the_root_signed(encrypted: Pipeline, tls_server: TlsServer) -> None:
    relay = start_tls_relay(encrypted, sslmode="verify-full", sslrootcert=str(tls_server.certificate))
    assert_it_delivers(encrypted, relay)
    assert_it_is_encrypted(encrypted)


def test_a_channel_bound_login_works(encrypted: Pipeline) -> None:
    assert_it_delivers(encrypted, start_tls_relay(encrypted, sslmode="require", channel_binding="require"))


def test_verify_full_refuses_a_stranger_s_certificate(encrypted: Pipeline, tls_server: TlsServer) -> None:
    relay = start_tls_relay(encrypted, "--no-wait", sslmode="verify-full", sslrootcert=str(tls_server.stranger))
    assert relay.wait(60) == 3
    assert "certificate verify failed" in relay.stderr
    assert PASSWORD not in relay.stderr


def test_verify_full_refuses_a_certificate_for_another_name(encrypted: Pipeline, tls_server: TlsServer) -> None:
    root = str(tls_server.certificate)
    relay = start_tls_relay(encrypted, "--no-wait", host="127.0.0.1", sslmode="verify-full", sslrootcert=root)
    assert relay.wait(60) == 3
    assert "certificate" in relay.stderr
    assert "127.0.0.1" in relay.stderr


def test_a_certificate_problem_is_not_blamed_on_the_network(encrypted: Pipeline, tls_server: TlsServer) -> None:
    relay = start_tls_relay(encrypted, "--no-wait", sslmode="verify-full", sslrootcert=str(tls_server.stranger))
    assert relay.wait(60) == 3
    [remedy] = re.findall(r"what to do: (.*)", relay.stderr)
    assert "sslrootcert" in remedy


def test_without_tls_the_server_lets_nobody_in(encrypted: Pipeline) -> None:
    relay = start_tls_relay(encrypted, sslmode="disable")
    assert relay.wait(60) == 3
    assert "no encryption" in relay.stderr
    assert "pg_hba.conf" in relay.stderr
