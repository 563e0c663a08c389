"""A real Kafka Connect worker with Debezium's plugin in it, and the connectors it runs, over its REST interface."""

from __future__ import annotations

import http.client
import json
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.fixtures.kafka_broker import LOG4J
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.process import Process, end, spawn, tail, wait_until
from tests.fixtures.scratch import free_port, remove_scratch, scratch_dir

__all__ = ["ConnectJars", "ConnectWorker", "find_connect_jars"]

_HERE = Path(__file__).parent
_MAIN = "org.apache.kafka.connect.cli.ConnectStandalone"
_STRING = "org.apache.kafka.connect.storage.StringConverter"

OK, REFUSED = 200, 400  # HTTP

ConnectJars = tuple[Path, Path]  # the worker's, the plugin's


def find_connect_jars() -> ConnectJars | str:
    """Both folders, or the reason why there is none."""
    worker, plugin = find_jars(_HERE / "connect" / "pom.xml"), find_jars(_HERE / "debezium_plugin" / "pom.xml")
    if isinstance(worker, str) or isinstance(plugin, str):
        return worker if isinstance(worker, str) else str(plugin)
    return worker, plugin


class ConnectWorker:
    """start() and destroy(); connectors come and go in between."""

    def __init__(self, jars: ConnectJars, bootstrap: str, *, java_options: Sequence[str] = ("-Xmx512m",)) -> None:
        self.port = free_port()
        self.directory = scratch_dir("connect")
        self.log = self.directory / "worker.log"
        self._bootstrap = bootstrap
        # No plugin.path: in Kafka 3.9.1 a standalone worker that is asked over REST looks for a plugin's transforms
        # with the wrong class loader, and never answers.
        self._class_path = ":".join(f"{folder}/*" for folder in jars)
        self._java_options = java_options
        self._process: Process | None = None
        (self.directory / "log4j.properties").write_text(LOG4J)

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("Kafka Connect is not running")
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, *, timeout: float = 120) -> None:
        self.launch()
        wait_until(self._answers, timeout=timeout, what=f"Kafka Connect answers on port {self.port}", every=0.2)

    def launch(self, connector: Mapping[str, str] | None = None) -> None:
        """Without waiting; a connector that is given here runs from the start."""
        files = [self._write("worker.properties", self._properties())]
        if connector is not None:
            files.append(self._write("connector.properties", connector))
        java = ["java", *self._java_options, f"-Dlog4j.configuration=file:{self.directory}/log4j.properties"]
        command = [*java, "-cp", self._class_path, _MAIN, *map(str, files)]
        self._process = spawn(command, log=self.log, cwd=self.directory)

    def stop(self, *, timeout: float = 60) -> None:
        """SIGTERM: the worker stores its connectors' offsets, for the next start."""
        if self._process is not None:
            process, self._process = self._process, None
            end(process, with_signal=signal.SIGTERM, timeout=timeout)

    def destroy(self) -> None:
        try:
            if self._process is not None:
                end(self._process, with_signal=signal.SIGKILL, timeout=30)
        finally:
            remove_scratch(self.directory)

    def create(self, name: str, config: Mapping[str, str]) -> None:
        self._ask("POST", "/connectors", {"name": name, "config": {"name": name, **config}})

    def delete(self, name: str) -> None:
        self._ask("DELETE", f"/connectors/{name}")

    def failure_of(self, name: str) -> str | None:
        """The stack trace of the connector or of its task, once it has failed; None before."""
        status = self._ask("GET", f"/connectors/{name}/status")
        parts = [status["connector"], *status["tasks"]]
        return next((str(part["trace"]) for part in parts if part["state"] == "FAILED"), None)

    def _write(self, name: str, properties: Mapping[str, str]) -> Path:
        file = self.directory / name
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        return file

    def _properties(self) -> dict[str, str]:
        return {
            "bootstrap.servers": self._bootstrap,
            "listeners": f"http://127.0.0.1:{self.port}",
            "plugin.discovery": "only_scan",
            "key.converter": _STRING,
            "value.converter": _STRING,
            "offset.storage.file.filename": str(self.directory / "offsets"),
            "connector.client.config.override.policy": "All",
        }

    def _answers(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise RuntimeError(f"Kafka Connect did not start:\n{tail(self.log)}")
        try:
            return self._talk("GET", "/connectors")[0] == OK  # its pages are there later than its port
        except (OSError, http.client.HTTPException):
            return False

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        status, text = self._talk(method, path, body)
        if status >= REFUSED:
            raise RuntimeError(f"Kafka Connect refuses {method} {path}: {text}\n{tail(self.log)}")
        return json.loads(text) if text else None

    def _talk(self, method: str, path: str, body: object = None) -> tuple[int, str]:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            line.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            answer = line.getresponse()
            return answer.status, answer.read().decode()
        finally:
            line.close()
