"""`cdc-relay check` as its users run it, and its fixes carried out as they are printed."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from cdc_relay.cli.check import check_command
from tests.fixtures.fix_postgres import PostgresServer
from tests.fixtures.fix_relay import Pipeline
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import Config

__all__ = ["Check", "Found"]

# What the shell scripts of a Kafka installation start. kafka-topics.sh is not among the broker's jars: see there.
TOOLS = {"kafka-acls.sh": "kafka.admin.AclCommand", "kafka-configs.sh": "kafka.admin.ConfigCommand"}

Found = dict[str, Any]  # a finding of --json


class Check:
    """One configuration file, looked at again and again as the relay's role; what is printed, an owner does."""

    def __init__(self, config: Config, directory: Path, server: PostgresServer | None = None) -> None:
        self.config = deepcopy(config)
        self.file = directory / "relay.yaml"
        self._owners_file = directory / "owner.yaml"
        self._server = server

    @classmethod
    def without_kafka(cls, pipeline: Pipeline, directory: Path, *, dsn: str | None = None) -> Check:
        return cls(pipeline.config(dsn=dsn) | {"sink": "none"}, directory, pipeline.database.server)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """As a process."""
        self._write()
        command = [sys.executable, "-m", "cdc_relay", "check", "-c", str(self.file), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def findings(self) -> list[Found]:
        """In this process: a test may have changed what counts as old, and a start takes a second."""
        self._write()
        done = CliRunner().invoke(check_command, ["-c", str(self.file), "--json"])
        found: list[Found] = json.loads(done.stdout)["findings"]
        assert done.exit_code == (3 if any(each["level"] == "fail" for each in found) else 0)
        return found

    def of(self, name: str) -> list[Found]:
        return [each for each in self.findings() if each["name"] == name]

    def bad(self, name: str, level: str) -> Found:
        """The one finding of this name that is not ok."""
        found = [each for each in self.of(name) if each["level"] != "ok"]
        assert [each["level"] for each in found] == [level], found
        assert found[0]["stake"]
        assert found[0]["fix"]
        return found[0]

    def is_fine(self, name: str) -> bool:
        return all(each["level"] == "ok" for each in self.of(name))

    def apply(self, finding: Found) -> None:
        """Every step of its fix, as it is printed."""
        for step in finding["fix"]:
            self._take(step["way"], step["text"])

    def repair(self, name: str, level: str) -> Found:
        """It is found, its fix is carried out, and it is gone."""
        finding = self.bad(name, level)
        self.apply(finding)
        wait_until(lambda: self.is_fine(name), timeout=60, what=f"{name} is fine")
        return finding

    def _write(self) -> None:
        self.file.write_text(yaml.safe_dump(self.config, sort_keys=False))

    def _take(self, way: str, text: str) -> None:
        match way:
            case "sql":
                assert self._server is not None
                self._server.psql("-c", text, dbname=self._dbname())
            case "yaml":
                self.config = _merged(self.config, yaml.safe_load(text))
            case "shell":
                self._run(text)
            case _ if text == "restart Postgres":
                assert self._server is not None
                self._server.restart()

    def _run(self, line: str) -> None:
        subprocess.run(["bash", "-c", self._as_here(line)], check=True, capture_output=True, timeout=90)

    def _as_here(self, line: str) -> str:
        """The same line, with the programs where they are on this machine."""
        program, _, arguments = line.partition(" ")
        if program == "kafka-topics.sh":
            return f"{shlex.quote(sys.executable)} {Path(__file__).with_name('kafka_topics.py')} {arguments}"
        if program in TOOLS:
            return f"java -cp {shlex.quote(f'{find_jars()}/*')} {TOOLS[program]} {arguments}"
        if program == "cdc-relay":
            return f"{shlex.quote(sys.executable)} -m cdc_relay {self._as_owner(arguments)}"
        if program == "psql":
            assert self._server is not None
            return f"{shlex.quote(str(self._server.bindir))}/{line}"
        return line

    def _as_owner(self, arguments: str) -> str:
        """With the same file but for who connects: the relay's role may not `setup`."""
        if self._server is None:
            return arguments
        source = {**self.config["source"], "dsn": self._server.dsn(self._dbname())}
        self._owners_file.write_text(yaml.safe_dump({**self.config, "source": source}, sort_keys=False))
        return arguments.replace(str(self.file), str(self._owners_file))

    def _dbname(self) -> str:
        found = re.search(r"dbname=(\S+)", self.config["source"]["dsn"])
        assert found
        return found[1]


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> Config:
    result = dict(base)
    for name, value in changes.items():
        old = result.get(name)
        result[name] = _merged(old, value) if isinstance(old, dict) and isinstance(value, Mapping) else value
    return result
