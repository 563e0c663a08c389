"""A guide as the tests follow it: its blocks in order, with the addresses, roles and slots of this test."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.fixtures.database import Database
from tests.fixtures.kafka_broker import Kafka
from tests.fixtures.pipeline import MakeRelay
from tests.fixtures.relay_process import RelayProcess
from tests.fixtures.scratch import free_port

__all__ = ["Block", "Walk", "blocks"]

DOCS = Path(__file__).parents[2] / "docs"
ASSIGNMENT = re.compile(r"[A-Z]+=\S*")


class Block(NamedTuple):
    section: str
    language: str
    text: str


def _text_of(guide: str) -> str:
    return (DOCS / guide).read_text()


def blocks(guide: str, *sections: str) -> list[Block]:
    """In their order, by the nearest heading above; indented ones too."""
    found: list[Block] = []
    heading = ""
    pattern = r"^#+ ([^\n]+)$|^ *```(\w+)\n(.*?)^ *```$"
    for match in re.finditer(pattern, _text_of(guide), re.MULTILINE | re.DOTALL):
        heading = match[1] or heading
        if match[2] and (not sections or heading in sections):
            found.append(Block(heading, match[2], textwrap.dedent(match[3])))
    return found


class Walk:
    """A reader at work. What belongs to a whole server (roles, slots) has other names here."""

    def __init__(self, database: Database, kafka: Kafka, make_relay: MakeRelay, directory: Path) -> None:
        role = database.create_role()
        database.server.execute(f"DROP ROLE {role}")  # the guide makes it; the fixture takes it away
        place = f"127.0.0.1:{database.server.port}/{database.name}"
        self.database = database
        self.slot = f"{database.name}_slot"
        self.relay: RelayProcess | None = None
        self._role = role
        self._make_relay = make_relay
        self._file = directory / "relay.yaml"
        self._names = {"localhost:5432/orders": place, "localhost:9092": kafka.bootstrap}
        self._names |= {"ROLE relay": f"ROLE {role}", "TO relay": f"TO {role}", "PGUSER=relay": f"PGUSER={role}"}
        self._names |= {"slot: debezium": f"slot: {self.slot}", "'debezium'": f"'{self.slot}'"}
        self._names |= {"slot: orders_outbox": f"slot: {self.slot}"}

    @property
    def config(self) -> dict[str, Any]:
        return dict(yaml.safe_load(self._file.read_text()))

    def write(self, config: dict[str, Any]) -> None:
        self._file.write_text(
            yaml.safe_dump(config | {"http": {"listen": f"127.0.0.1:{free_port()}"}}, sort_keys=False)
        )

    def take(self, block: Block) -> None:
        text = block.text
        for theirs, ours in self._names.items():
            text = text.replace(theirs, ours)
        match block.language:
            case "yaml":
                self.write(yaml.safe_load(text))
            case "sql":
                self.database.execute(text)
            case "sh":
                for line in text.splitlines():
                    self.execute(line)

    def execute(self, line: str) -> None:
        words = shlex.split(line)
        given = dict(word.split("=", 1) for word in words if ASSIGNMENT.fullmatch(word))
        command = words[len(given) :]
        if command[:2] == ["cdc-relay", "run"]:
            self.relay = self._make_relay(self.config, env=given).wait_ready()
        elif command[0] != "curl":  # Kafka Connect's; the slot's own functions stand for a connector
            self._run(command, given)

    def worries(self) -> set[str]:
        """What check, as the relay's role, does not find right."""
        said = self._run(["cdc-relay", "check", "-c", "relay.yaml", "--json"], {"PGUSER": self._role})
        return {found["name"] for found in json.loads(said)["findings"] if found["level"] != "ok"}

    def _run(self, command: list[str], given: dict[str, str]) -> str:
        assert command[0] == "cdc-relay"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        program = [sys.executable, "-m", "cdc_relay", *command[1:]]
        answer = subprocess.run(
            program,
            cwd=self._file.parent,
            env=inherited | given,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert answer.returncode == 0, answer.stdout + answer.stderr
        return answer.stdout
