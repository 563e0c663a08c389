"""All of docker-compose.yml that is ours, on real servers set as the file says: what a demonstration would be."""

from __future__ import annotations

import http.client
import os
import re
from pathlib import Path

from tests.deploy.containers import Container, kafka_properties, postgres_settings
from tests.deploy.files import PORT, compose
from tests.deploy.image import Image
from tests.fixtures.kafka_broker import KafkaBroker
from tests.fixtures.postgres_install import Install
from tests.fixtures.postgres_server import PostgresServer
from tests.fixtures.process import Process, spawn, tail, wait_until
from tests.fixtures.scratch import free_port

__all__ = ["DATABASE", "Stack", "make_broker", "make_server"]

DATABASE: str = compose()["services"]["postgres"]["environment"]["POSTGRES_DB"]


class Stack:
    def __init__(self, image: Image, server: PostgresServer, broker: KafkaBroker, directory: Path) -> None:
        self.server = server
        self.broker = broker
        self.port = free_port()
        self._image = image
        self._directory = directory
        self._psql = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port)}
        self._psql["PATH"] = f"{server.bindir}{os.pathsep}{os.environ['PATH']}"

    def run(self, name: str) -> str:
        """A one-shot service."""
        container = self._container(name)
        return container.run(**({} if container.image else self._psql))

    def execute(self, name: str, *words: str) -> str:
        """`docker compose exec NAME cdc-relay …`."""
        return self._container(name).run(*words)

    def check_health(self, name: str) -> int:
        container = self._container(name)
        return container.check_health(**({} if container.image else self._psql))

    def start(self, name: str) -> Process:
        container = self._container(name)
        more = {} if container.image else self._psql
        user = "nobody" if os.geteuid() == 0 else None
        return spawn(container.command, log=self.log(name), env=container.environment(**more), cwd=Path("/"), user=user)

    def log(self, name: str) -> Path:
        return self._directory / f"{name}.log"

    def wait_ready(self, relay: Process) -> None:
        def is_ready() -> bool:
            assert relay.poll() is None, tail(self.log("relay"))
            return self.get("/readyz") == 200

        wait_until(is_ready, timeout=60, what="/readyz is 200")

    def get(self, path: str) -> int | None:
        """The status of the relay's page; None while nobody answers."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            line.request("GET", path)
            return line.getresponse().status
        except OSError:
            return None
        finally:
            line.close()

    def _container(self, name: str) -> Container:
        addresses = {
            "postgres:5432": f"127.0.0.1:{self.server.port}",
            "kafka:9092": self.broker.bootstrap,
            f"0.0.0.0:{PORT}": f"127.0.0.1:{self.port}",
            f"127.0.0.1:{PORT}": f"127.0.0.1:{self.port}",
        }
        is_ours = compose()["services"][name]["image"] == "cdc-relay"
        return Container(name, self._directory, addresses=addresses, image=self._image if is_ours else None)


def make_server(install: Install) -> PostgresServer:
    """Asks for passwords as the image does."""
    server = PostgresServer(install, **postgres_settings())
    server.start()
    server.execute(f"CREATE DATABASE {DATABASE}")
    rules = "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
    (server.data_dir / "pg_hba.conf").write_text(rules)
    server.execute("SELECT pg_reload_conf()")
    return server


def make_broker(jars: Path) -> KafkaBroker:
    """Ports and folder are this machine's."""
    broker = KafkaBroker(jars)
    ports = {"9092": broker.port, "9093": free_port(), "9094": broker.behind_proxy_port}
    broker.cluster_id = compose()["services"]["kafka"]["environment"]["CLUSTER_ID"]
    broker.properties = {name: _here(value, ports) for name, value in kafka_properties().items()}
    broker.properties["log.dirs"] = str(broker.directory / "data")
    broker.start()
    return broker


def _here(value: str, ports: dict[str, int]) -> str:
    """Hosts and ports of listeners, such as INSIDE://kafka:9092 or 1@kafka:9093."""
    return re.sub(r"(//|@)\w*:(\d+)", lambda place: f"{place[1]}127.0.0.1:{ports[place[2]]}", value)
