"""TLS with the real relay, on Debian's Postgres. Certificates that are refused: test_tls_certificates.py."""

from __future__ import annotations

import re
import ssl
import subprocess
from collections.abc import Iterator

import pytest

from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess
from tests.integration.connection_rig import PASSWORD, ROLE, assert_it_delivers
from tests.integration.metrics_rig import wait_for_metrics
from tests.integration.tls_rig import TlsServer, find_tls_install

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def tls_server() -> Iterator[TlsServer]:
    """Lets the relay in with TLS only."""
    tls = TlsServer(find_tls_install())
    try:
        tls.start(f"hostssl all {ROLE} 127.0.0.1/32 scram-sha-256")
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
    relay = start_tls_relay(encrypted, sslmode="verify-full", sslrootcert=str(tls_server.authority.certificate))
    assert_it_delivers(encrypted, relay)
    assert_it_is_encrypted(encrypted)


def test_the_end_of_the_server_s_certificate_is_a_metric(encrypted: Pipeline, tls_server: TlsServer) -> None:
    root = str(tls_server.authority.certificate)
    relay = start_tls_relay(encrypted, sslmode="verify-full", sslrootcert=root).wait_ready()
    ends = "outbox_certificate_expiry_timestamp_seconds"
    seen = wait_for_metrics(relay, lambda seen: (ends, "the server of source.dsn") in seen, what="it is a metric")
    printed = subprocess.run(
        ["openssl", "x509", "-enddate", "-noout", "-in", str(tls_server.good.certificate)],
        capture_output=True,
        text=True,
    ).stdout
    assert seen[ends, "the server of source.dsn"] == ssl.cert_time_to_seconds(printed.strip().partition("=")[2])


def test_a_channel_bound_login_works(encrypted: Pipeline) -> None:
    assert_it_delivers(encrypted, start_tls_relay(encrypted, sslmode="require", channel_binding="require"))


def test_a_certificate_problem_is_not_blamed_on_the_network(encrypted: Pipeline, tls_server: TlsServer) -> None:
    relay = start_tls_relay(
        encrypted, "--no-wait", sslmode="verify-full", sslrootcert=str(tls_server.strangers.certificate)
    )
    assert relay.wait(60) == 3
    [remedy] = re.findall(r"what to do: (.*)", relay.stderr)
    assert "sslrootcert" in remedy


def test_without_tls_the_server_lets_nobody_in(encrypted: Pipeline) -> None:
    relay = start_tls_relay(encrypted, sslmode="disable")
    assert relay.wait(60) == 3
    assert "no encryption" in relay.stderr
    assert "pg_hba.conf" in relay.stderr
