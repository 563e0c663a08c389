"""Certificates between the relay and Postgres, theirs and ours: what cannot be trusted is refused with its cause, no
event is lost, and after the repair everything arrives. On a server with `hostssl` and `clientcert=verify-full`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.fixtures.authority import Identity
from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess
from tests.fixtures.planted import KEY_PASSWORD
from tests.fixtures.process import wait_until
from tests.integration.connection_rig import PASSWORD, ROLE
from tests.integration.tls_rig import TlsServer, find_tls_install
from tests.integration.waiting_rig import assert_it_delivers, readiness

pytestmark = pytest.mark.kafka

BY_CERTIFICATE = "certified"  # a role without a password
Make = Callable[[TlsServer], Identity]


@pytest.fixture(scope="module")
def tls() -> Iterator[TlsServer]:
    tls = TlsServer(find_tls_install())
    try:
        both = f"hostssl all {ROLE} 127.0.0.1/32 scram-sha-256 clientcert=verify-full"
        tls.start(both, f"hostssl all {BY_CERTIFICATE} 127.0.0.1/32 cert")
        tls.server.execute(f"CREATE ROLE {BY_CERTIFICATE} LOGIN REPLICATION")
        yield tls
    finally:
        tls.server.destroy()


@pytest.fixture
def mutual(tls: TlsServer, make_pipeline: MakePipeline) -> Iterator[Pipeline]:
    pipeline = make_pipeline(server=tls.server)
    for role in (ROLE, BY_CERTIFICATE):
        pipeline.database.grant_schema(role)
    yield pipeline
    tls.show(tls.good)
    pipeline.database.drop()


def start(
    pipeline: Pipeline, tls: TlsServer, *arguments: str, ours: Identity | None, role: str = ROLE, **params: str
) -> RelayProcess:
    """localhost by name, so that there is a name to verify."""
    place = {"host": "localhost", "hostaddr": "127.0.0.1", "sslmode": "verify-full", "connect_timeout": "20"}
    place |= {"sslrootcert": str(tls.authority.certificate)}
    place |= {"password": PASSWORD} if role == ROLE else {}
    place |= {"sslcert": str(ours.certificate), "sslkey": str(ours.key)} if ours else {"sslcert": "", "sslkey": ""}
    dsn = pipeline.database.dsn(role, **{**place, **params})
    return pipeline.start_relay(*arguments, ready=False, dsn=dsn)


def names_of_clients(pipeline: Pipeline) -> set[str]:
    rows = pipeline.database.execute(
        "SELECT client_dn FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name LIKE 'cdc-relay:%'"
    )
    return {name for (name,) in rows}


# --- ours is trusted


def test_a_password_and_a_client_certificate_together_let_the_relay_in(mutual: Pipeline, tls: TlsServer) -> None:
    start(mutual, tls, ours=tls.authority.issue(ROLE)).wait_ready()
    assert_it_delivers(mutual, mutual.insert())
    assert names_of_clients(mutual) == {f"/CN={ROLE}"}


def test_a_client_certificate_alone_lets_the_relay_in_where_postgres_says_so(mutual: Pipeline, tls: TlsServer) -> None:
    start(mutual, tls, ours=tls.authority.issue(BY_CERTIFICATE), role=BY_CERTIFICATE).wait_ready()
    assert_it_delivers(mutual, mutual.insert())


def test_the_key_of_the_client_certificate_may_be_encrypted(mutual: Pipeline, tls: TlsServer) -> None:
    """Its password is among what the suite's net looks for."""
    ours = tls.authority.issue(ROLE, password=KEY_PASSWORD)
    start(mutual, tls, ours=ours, sslpassword=KEY_PASSWORD).wait_ready()
    assert_it_delivers(mutual, mutual.insert())


# --- theirs is not

THEIRS: dict[str, tuple[Make, str]] = {
    "expired": (
        lambda tls: tls.authority.issue("localhost", days=-1),
        "certificate verify failed: certificate has expired",
    ),
    "of an unknown authority": (
        lambda tls: tls.strangers.issue("localhost"),
        "certificate verify failed: unable to get local issuer certificate",
    ),
    "self-signed": (
        lambda tls: Identity(tls.strangers.certificate, tls.strangers.certificate.with_suffix(".key")),
        "certificate verify failed: self-signed certificate",
    ),
    "for another host": (
        lambda tls: tls.authority.issue("db.example", names="DNS:db.example"),
        'server certificate for "db.example" does not match host name "localhost"',
    ),
}


@pytest.mark.parametrize("fault", THEIRS)
def test_a_server_s_certificate_that_cannot_be_trusted_is_refused_until_it_is_replaced(
    mutual: Pipeline, tls: TlsServer, fault: str
) -> None:
    make, cause = THEIRS[fault]
    ours = tls.authority.issue(ROLE)
    relay = start(mutual, tls, ours=ours).wait_ready()
    tls.show(make(tls))
    mutual.database.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'cdc-relay:%'"
    )
    event_id = mutual.insert()
    wait_until(lambda: cause in readiness(relay)[1].get("reason", ""), timeout=60, what=f"/readyz says {cause}")
    another = start(mutual, tls, "--no-wait", ours=ours)
    assert another.wait(60) == 3
    assert cause in another.stderr
    assert "what to do: check sslmode, sslrootcert and the host name of source.dsn" in another.stderr
    assert mutual.records() == []

    tls.show(tls.good)
    assert_it_delivers(mutual, event_id)
    assert relay.is_running


# --- ours is not

OURS: dict[str, tuple[Callable[[TlsServer], Identity | None], str, str]] = {
    "none": (
        lambda tls: None,
        "connection requires a valid client certificate",
        "set sslcert and sslkey of source.dsn",
    ),
    "expired": (lambda tls: tls.authority.issue(ROLE, days=-1), "certificate expired", "renew the client certificate"),
    "of an unknown authority": (lambda tls: tls.strangers.issue(ROLE), "unknown ca", "renew the client certificate"),
    "for another role": (lambda tls: tls.authority.issue("somebody"), "authentication failed for user", "its CN"),
}


@pytest.mark.parametrize("fault", OURS)
def test_a_client_certificate_that_postgres_does_not_trust_is_refused_with_what_to_do(
    mutual: Pipeline, tls: TlsServer, fault: str
) -> None:
    make, cause, remedy = OURS[fault]
    event_id = mutual.insert()
    refused = start(mutual, tls, "--no-wait", ours=make(tls))
    assert refused.wait(60) == 3
    assert cause in refused.stderr
    assert remedy in refused.stderr.partition("what to do: ")[2]

    start(mutual, tls, ours=tls.authority.issue(ROLE)).wait_ready()
    assert_it_delivers(mutual, event_id)
