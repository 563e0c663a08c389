"""Debian's Postgres with TLS (the wheel's is built without), the authority that it trusts, and another one."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import ssl

import pytest

from tests.fixtures.authority import Authority, Identity
from tests.fixtures.fix_postgres import PostgresServer
from tests.fixtures.postgres_install import Install, find_install
from tests.fixtures.process import wait_until
from tests.integration.connection_rig import admit, make_role

__all__ = ["TlsServer", "find_tls_install"]

TLS_VERSION = 15
SSL_REQUEST = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"


def find_tls_install() -> Install:
    """Skips where there is none; CI must have it."""
    install = find_install(TLS_VERSION)
    lacking = install if isinstance(install, str) else "" if shutil.which("openssl") else "no openssl on this machine"
    if isinstance(install, Install) and not lacking:
        return install
    if os.environ.get("CI") == "true":
        pytest.fail(f"{lacking}; with CI=true it must be there")
    pytest.skip(lacking)


class TlsServer:
    """Shows a certificate of `authority`, and trusts the certificates of clients that are of it."""

    def __init__(self, install: Install) -> None:
        self.server = PostgresServer(install)
        self.authority = Authority(self.server.directory, "authority")
        self.strangers = Authority(self.server.directory, "strangers")
        self.good = self.authority.issue("localhost")

    def start(self, *rules: str) -> None:
        """`rules`: lines of pg_hba.conf for who is not the tests' own superuser."""
        self.server.start()
        make_role(self.server)
        self.server.configure(ssl=True, ssl_ca_file=str(self.authority.certificate))
        self.show(self.good)
        admit(self.server, *rules)

    def show(self, identity: Identity) -> None:
        """From now on to everybody who connects."""
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            shutil.chown(identity.key, owner.pw_uid, owner.pw_gid)
        self.server.configure(ssl_cert_file=str(identity.certificate), ssl_key_file=str(identity.key))
        wanted = ssl.PEM_cert_to_DER_cert(identity.certificate.read_text())
        wait_until(lambda: self._shown() == wanted, timeout=30, what="the server shows it")

    def _shown(self) -> bytes | None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=10) as line:
            line.sendall(SSL_REQUEST)
            if line.recv(1) != b"S":
                return None
            with context.wrap_socket(line) as secured:
                return secured.getpeercert(binary_form=True)
