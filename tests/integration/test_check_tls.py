"""`cdc-relay check` and TLS, on a real broker and on Debian's Postgres: causes, and certificates that end."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.database import Database
from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.postgres_install import find_install
from tests.fixtures.postgres_server import PostgresServer
from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import relay_config
from tests.integration.certificates import make_certificate
from tests.integration.check_rig import Check

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.real_kafka,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on this machine"),
]

USER = "relay"
TLS_VERSION = 15  # Debian's: the wheel's is built without


class SecuredBroker:
    """A broker whose third listener speaks TLS and asks for passwords."""

    def __init__(self, jars: Path) -> None:
        self._broker = KafkaBroker(jars, users=[USER], heap="512m")
        self.certificate = self._broker.directory / "broker.crt"
        self._keystore = self._broker.directory / "keystore.pem"
        self._broker.properties |= {
            "listener.security.protocol.map": (
                "DIRECT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURED:SASL_SSL"
            ),
            "listener.name.secured.ssl.keystore.type": "PEM",
            "listener.name.secured.ssl.keystore.location": str(self._keystore),
        }

    def use_certificate(self, *, days: int) -> None:
        """A new one, and a start with it."""
        self._broker.stop()
        key = make_certificate(self.certificate, days=days)
        self._keystore.write_text(key.read_text() + self.certificate.read_text())
        self._broker.start()

    def credentials(self) -> dict[str, str]:
        secured = {"security.protocol": "SASL_SSL", "ssl.ca.location": str(self.certificate)}
        return self._broker.credentials(USER) | secured

    def destroy(self) -> None:
        self._broker.destroy()


@pytest.fixture(scope="module")
def broker() -> Iterator[SecuredBroker]:
    jars = find_jars()
    assert isinstance(jars, Path)  # the mark real_kafka has seen to it
    secured = SecuredBroker(jars)
    try:
        yield secured
    finally:
        secured.destroy()


def checked(database: Database, directory: Path, kafka: dict[str, str]) -> Check:
    config = relay_config(database.dsn(database.create_role("LOGIN REPLICATION")), "s", "p", "public.outbox", "")
    config["sink"] = {"kafka": kafka}
    return Check(config, directory)


def test_a_broker_whose_certificate_ends_is_warned_of_before_it_fails(
    broker: SecuredBroker, database: Database, tmp_path: Path
) -> None:
    broker.use_certificate(days=400)
    check = checked(database, tmp_path, broker.credentials())
    assert check.is_fine("kafka.certificates")
    assert check.of("kafka.certificates")
    assert check.is_fine("kafka.reachable")

    broker.use_certificate(days=10)
    found = [each for each in check.of("kafka.certificates") if each["level"] == "warn"]
    assert [each["found"].partition(" (CN localhost) expires on")[0] for each in found] == [
        f"sink.kafka ssl.ca.location: {broker.certificate}",
        f"broker {check.config['sink']['kafka']['bootstrap.servers']}",
    ]

    broker.use_certificate(days=-1)
    assert "verif" in check.bad("kafka.tls", "fail")["found"]  # the cause itself is the next finding
    assert [each["level"] for each in check.of("kafka.certificates")] == ["warn", "fail"]  # the CA file, the broker's

    broker.use_certificate(days=400)
    assert check.is_fine("kafka.tls")
    assert check.is_fine("kafka.certificates")


def test_what_keeps_us_from_the_brokers_is_said_as_what_it_is(
    broker: SecuredBroker, database: Database, tmp_path: Path
) -> None:
    broker.use_certificate(days=400)
    stranger = tmp_path / "stranger.crt"
    make_certificate(stranger, days=400)
    good = broker.credentials()
    check = checked(database, tmp_path, good | {"ssl.ca.location": str(stranger)})
    assert "certificate verify failed" in check.bad("kafka.tls", "fail")["found"]
    check.config["sink"]["kafka"] = good | {"sasl.password": "guessed-4711"}
    assert "Authentication failed" in check.bad("kafka.authentication", "fail")["found"]
    check.config["sink"]["kafka"] = good | {"security.protocol": "SASL_PLAINTEXT"}
    assert check.bad("kafka.reachable", "fail")
    check.config["sink"]["kafka"] = good
    assert all(check.is_fine(name) for name in ("kafka.tls", "kafka.authentication", "kafka.reachable"))


def test_a_client_certificate_in_the_file_is_looked_at(
    broker: SecuredBroker, database: Database, tmp_path: Path
) -> None:
    broker.use_certificate(days=400)
    ours = tmp_path / "client.crt"
    key = make_certificate(ours, days=5)
    own = {"ssl.certificate.location": str(ours), "ssl.key.location": str(key)}
    check = checked(database, tmp_path, broker.credentials() | own)
    assert str(ours) in check.bad("kafka.certificates", "warn")["found"]
    own = {"ssl.certificate.pem": ours.read_text(), "ssl.key.pem": key.read_text()}
    check.config["sink"]["kafka"] = broker.credentials() | own
    assert "ssl.certificate.pem" in check.bad("kafka.certificates", "warn")["found"]


@pytest.fixture
def tls_server() -> Iterator[PostgresServer]:
    install = find_install(TLS_VERSION)
    if isinstance(install, str):
        if os.environ.get("CI") == "true":
            pytest.fail(f"{install}; with CI=true it must be there")
        pytest.skip(install)
    server = PostgresServer(install)
    try:
        server.start()
        yield server
    finally:
        server.destroy()


def test_a_server_of_postgres_whose_certificate_ends_is_warned_of_before_it_fails(
    tls_server: PostgresServer, tmp_path: Path
) -> None:
    certificate = tls_server.directory / "server.crt"

    def use_certificate(days: int) -> None:
        key = make_certificate(certificate, days=days)
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            shutil.chown(key, owner.pw_uid, owner.pw_gid)
        tls_server.configure(ssl=True, ssl_cert_file=str(certificate), ssl_key_file=str(key))

    dsn = tls_server.dsn(host="localhost", hostaddr="127.0.0.1", sslmode="verify-full", sslrootcert=str(certificate))
    check = Check(relay_config(dsn, "s", "p", "public.outbox", "") | {"sink": "none"}, tmp_path)

    def levels() -> list[str]:
        return [each["level"] for each in check.of("postgres.certificates")]

    use_certificate(400)
    wait_until(lambda: levels() == ["ok"] and check.is_fine("postgres.reachable"), timeout=30, what="TLS is on")
    use_certificate(10)
    wait_until(lambda: levels() == ["warn", "warn"], timeout=30, what="it ends soon: the file, and the server's")
    use_certificate(-1)
    wait_until(lambda: levels() == ["warn", "fail"], timeout=30, what="it has ended: the CA file, the server's")
    assert "certificate verify failed" in check.bad("postgres.reachable", "fail")["found"]
    use_certificate(400)
    wait_until(lambda: levels() == ["ok"] and check.is_fine("postgres.reachable"), timeout=30, what="a new one is used")
