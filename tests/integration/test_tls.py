"""TLS with the real relay, on Debian's Postgres: the wheel's is built without."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.fix_postgres import PostgresServer
from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess
from tests.fixtures.postgres_install import Install, find_install
from tests.integration.connection_rig import PASSWORD, ROLE, admit, assert_it_delivers, make_role
from tests.integration.metrics_rig import wait_for_metrics

pytestmark = pytest.mark.kafka

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
    pipeline.database.grant_schema(ROLE)
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


def test_the_end_of_the_server_s_certificate_is_a_metric(encrypted: Pipeline, tls_server: TlsServer) -> None:
    relay = start_tls_relay(encrypted, sslmode="verify-full", sslrootcert=str(tls_server.certificate)).wait_ready()
    ends = "outbox_certificate_expiry_timestamp_seconds"
    seen = wait_for_metrics(relay, lambda seen: (ends, "the server of source.dsn") in seen, what="it is a metric")
    printed = subprocess.run(
        ["openssl", "x509", "-enddate", "-noout", "-in", str(tls_server.certificate)], capture_output=True, text=True
    ).stdout
    assert seen[ends, "the server of source.dsn"] == ssl.cert_time_to_seconds(printed.strip().partition("=")[2])


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
