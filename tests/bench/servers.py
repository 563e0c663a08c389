"""The servers of a run: Postgres, and one broker. Stopped whatever happens. Knows no peer and no workload."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.processes import cpu_seconds, cpu_seconds_of_server
from tests.fixtures.kafka_broker import KafkaBroker
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.postgres_install import Install, find_install
from tests.fixtures.postgres_server import PostgresServer, Setting
from tests.integration.certificates import make_certificate

__all__ = ["Servers", "servers"]

SETTINGS: dict[str, Setting] = {
    "fsync": True,  # the walsender reads what was flushed
    "max_wal_size": "8GB",
    "checkpoint_timeout": "1h",  # ours come between the drains
    "shared_buffers": "512MB",
    "wal_sender_timeout": 0,  # a held walsender hears nobody
    "autovacuum": False,  # what filling left to do is no peer's work
    "log_replication_commands": False,
}
BROKER = {
    "auto.create.topics.enable": False,
    "connections.max.idle.ms": 3_600_000,  # a held peer says nothing
    "log.retention.ms": -1,
}
# Of a refused record it prints a stack trace, which costs it more than the refusal, on the cores that are measured.
LOGGERS = {"kafka.server.ReplicaManager": "FATAL"}


@dataclass(frozen=True)
class Servers:
    postgres: PostgresServer
    kafka: KafkaBroker
    directory: Path
    certificate: Path | None = None  # of both, where lines are encrypted

    @property
    def bootstrap(self) -> str:
        """For peers; the harness itself takes the broker's plain listener."""
        return self.kafka.bootstrap if self.certificate is None else f"127.0.0.1:{self.kafka.behind_proxy_port}"

    def postgres_params(self) -> dict[str, str]:
        """For peers, in libpq's words."""
        return {} if self.certificate is None else {"sslmode": "verify-ca", "sslrootcert": str(self.certificate)}

    def postgres_cpu_seconds(self) -> float:
        return cpu_seconds_of_server(self.postgres.pid)

    def broker_cpu_seconds(self) -> float:
        return cpu_seconds(self.kafka.pid)


@contextmanager
def servers(*, tls: bool = False) -> Iterator[Servers]:
    """With TLS on Debian's Postgres: the wheel's is built without."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # with every teardown
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode; so has ours
    install, jars = find_install(15 if tls else 18), find_jars()
    if not isinstance(install, Install) or isinstance(jars, str):
        raise SystemExit(f"the benchmark needs both servers: {install}, {jars}")
    with ExitStack() as ends:
        directory = ends.enter_context(tempfile.TemporaryDirectory())
        postgres, kafka = PostgresServer(install, **SETTINGS), KafkaBroker(jars, BROKER, loggers=LOGGERS)
        ends.callback(postgres.destroy)
        ends.callback(kafka.destroy)
        postgres.start()
        certificate = _encrypt(postgres, kafka) if tls else None
        kafka.start()
        yield Servers(postgres, kafka, Path(directory), certificate)


def _encrypt(postgres: PostgresServer, kafka: KafkaBroker) -> Path:
    """One certificate for both. The broker's second listener, which is there for proxies, speaks TLS."""
    certificate, keystore = postgres.directory / "server.crt", kafka.directory / "keystore.pem"
    key = make_certificate(certificate, days=2)
    keystore.write_text(key.read_text() + certificate.read_text())
    shutil.chown(key, postgres.data_dir.owner())
    postgres.configure(ssl=True, ssl_cert_file=str(certificate), ssl_key_file=str(key))
    kafka.properties |= {
        "listener.security.protocol.map": "DIRECT:PLAINTEXT,PROXIED:SSL,CONTROLLER:PLAINTEXT,SECURED:SASL_PLAINTEXT",
        "listener.name.proxied.ssl.keystore.type": "PEM",
        "listener.name.proxied.ssl.keystore.location": str(keystore),
    }
    return certificate
