"""What is wrong with a server's certificate is told in OpenSSL's words, and nothing is told where nothing is wrong."""

from __future__ import annotations

import shutil
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdc_relay.sinks.broker_certificates import explain
from cdc_relay.sources.handshake import SSL_REQUEST, Peer, find_fault
from tests.fixtures.authority import Authority, Identity
from tests.fixtures.scratch import free_port

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on this machine")

COMPLAINT = "SSL handshake failed: error:0A000086:SSL routines::certificate verify failed"


class Server:
    """Shows its certificate to everybody; as Postgres, after it was asked to."""

    def __init__(self, identity: Identity, *, answer: bytes = b"") -> None:
        self.port = free_port()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(identity.certificate, identity.key)
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._serve, name="tls server", daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client:
                self._greet(client)

    def _greet(self, client: socket.socket) -> None:
        if self._answer:
            assert client.recv(len(SSL_REQUEST)) == SSL_REQUEST
            client.sendall(self._answer)
        if self._answer != b"N":
            try:
                self._context.wrap_socket(client, server_side=True).close()
            except OSError:
                return  # the other side did not like it


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "authority")


@pytest.fixture
def strangers(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "strangers")


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    made: list[Server] = []
    yield made
    for server in made:
        server.close()


def fault_of(server: Server, authority: Authority, *, name: str = "localhost", is_postgres: bool = False) -> str:
    root = str(authority.certificate)
    return find_fault(Peer("127.0.0.1", server.port, name=name, authorities=root, is_postgres=is_postgres))


@pytest.mark.parametrize("answer", [b"", b"S"], ids=["at once", "as Postgres"])
def test_a_good_certificate_has_no_fault(servers: list[Server], authority: Authority, answer: bytes) -> None:
    servers.append(Server(authority.issue("server"), answer=answer))
    assert fault_of(servers[0], authority, is_postgres=bool(answer)) == ""
    assert fault_of(servers[0], authority, name="127.0.0.1", is_postgres=bool(answer)) == ""


def test_each_fault_is_said(servers: list[Server], authority: Authority, strangers: Authority) -> None:
    servers.append(Server(authority.issue("server", days=-1)))
    assert fault_of(servers[-1], authority) == "certificate has expired"
    servers.append(Server(strangers.issue("server")))
    assert fault_of(servers[-1], authority) == "unable to get local issuer certificate"
    servers.append(Server(Identity(strangers.certificate, strangers.certificate.with_suffix(".key"))))
    assert fault_of(servers[-1], authority).startswith("self")  # signed, or self-signed, by the version of OpenSSL
    servers.append(Server(authority.issue("server", names="DNS:elsewhere")))
    assert fault_of(servers[-1], authority) == "Hostname mismatch, certificate is not valid for 'localhost'"
    assert fault_of(servers[-1], authority, name="") == ""


def test_a_server_that_does_not_speak_tls_or_is_not_there_has_none(
    servers: list[Server], authority: Authority, tmp_path: Path
) -> None:
    servers.append(Server(authority.issue("server"), answer=b"N"))
    assert fault_of(servers[-1], authority, is_postgres=True) == ""
    assert find_fault(Peer("127.0.0.1", free_port(), authorities=str(authority.certificate))) == ""
    assert find_fault(Peer("127.0.0.1", servers[-1].port, authorities=str(tmp_path / "none"))) == ""


def test_a_broker_s_fault_is_said_after_librdkafka_s_complaint(servers: list[Server], authority: Authority) -> None:
    servers.append(Server(authority.issue("server", days=-1)))
    away, here = f"127.0.0.1:{free_port()}", f"127.0.0.1:{servers[0].port}"
    properties = {"bootstrap.servers": f"{away}, ssl://{here}", "ssl.ca.pem": authority.certificate.read_text()}
    said = f"; the certificate of {here} is not trusted: certificate has expired"
    assert explain(COMPLAINT, properties) == said
    assert explain("Connection refused", properties) == ""
    assert explain(COMPLAINT, {"bootstrap.servers": away}) == ""
