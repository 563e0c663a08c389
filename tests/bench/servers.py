"""The servers of a run: Postgres, and one broker. Stopped whatever happens. Knows no peer and no workload."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.processes import cpu_seconds, cpu_seconds_of_server
from tests.fixtures.kafka_broker import KafkaBroker
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.postgres_install import Install, find_install
from tests.fixtures.postgres_server import PostgresServer, Setting

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


@dataclass(frozen=True)
class Servers:
    postgres: PostgresServer
    kafka: KafkaBroker
    directory: Path

    def postgres_cpu_seconds(self) -> float:
        return cpu_seconds_of_server(self.postgres.pid)

    def broker_cpu_seconds(self) -> float:
        return cpu_seconds(self.kafka.pid)


@contextmanager
def servers(version: int = 18) -> Iterator[Servers]:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode; so has ours
    install, jars = find_install(version), find_jars()
    if not isinstance(install, Install) or isinstance(jars, str):
        raise SystemExit(f"the benchmark needs both servers: {install}, {jars}")
    with tempfile.TemporaryDirectory() as directory:
        postgres, kafka = PostgresServer(install, **SETTINGS), KafkaBroker(jars, BROKER)
        try:
            postgres.start()
            kafka.start()
            yield Servers(postgres, kafka, Path(directory))
        finally:
            kafka.destroy()
            postgres.destroy()
