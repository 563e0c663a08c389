"""The README is followed as it is written: in a fresh clone, and on real servers.

Only what differs from machine to machine is replaced: the addresses of Postgres, of Kafka and of the HTTP server."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
import venv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # carries no types
import pytest
import yaml

from tests.fixtures.consume import wait_for_records
from tests.fixtures.fix_kafka import Kafka
from tests.fixtures.fix_postgres import MakePostgres, PostgresServer
from tests.fixtures.process import Process, end, spawn, wait_until
from tests.fixtures.scratch import free_port, remove_scratch, scratch_dir
from tests.integration.readme_text import INSTALL, ROOT, RUN, WALK, Block, blocks

# All that is ours and hidden is .ci and .gitignore.
NOT_IN_A_CLONE = shutil.ignore_patterns(".*", "__pycache__", "build", "*.egg-info", "*.so")

ASSIGNMENT = re.compile(r"\w+=\S*")


# --- a fresh clone


@dataclass
class Clone:
    path: Path

    @property
    def home(self) -> Path:
        """Where its programs put temporary files."""
        return self.path.parent / "tmp"

    @property
    def log(self) -> Path:
        return self.path.parent / "output"

    def start(self, line: str) -> Process:
        return spawn(shlex.split(line), log=self.log, env=self.environment(), cwd=self.path)

    def run(self, line: str) -> None:
        assert self.start(line).wait(240) == 0, self.log.read_text()

    def environment(self) -> dict[str, str]:
        """Without what the make that runs these tests told its children."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "PG"))}
        return {**inherited, "PYTHON": sys.executable, "TMPDIR": str(self.home), "PYTHONUNBUFFERED": "1"}


@pytest.fixture(scope="module")
def clone() -> Iterator[Clone]:
    """The files of the repository without anything that was made from them."""
    place = scratch_dir("clone")
    shutil.copytree(ROOT, place / "cdc-relay", ignore=NOT_IN_A_CLONE)
    fresh = Clone(place / "cdc-relay")
    fresh.home.mkdir()
    fresh.home.chmod(0o755)
    yield fresh
    remove_scratch(place)


def test_make_demo_works_in_a_fresh_clone_and_make_clean_leaves_the_sources(clone: Clone) -> None:
    before = {path.name for path in clone.path.iterdir()}
    make = clone.start("make demo")
    wait_until(lambda: shows_orders(make, clone), timeout=240, what="make demo shows orders")
    interrupt_demo(make)
    assert make.wait(60) == 0, clone.log.read_text()
    assert "every committed event arrived, and no other" in clone.log.read_text()
    assert list(clone.home.iterdir()) == []
    clone.run("make install")
    assert (clone.path / ".venv" / "bin" / "cdc-relay").exists()
    clone.run("make clean")
    assert {path.name for path in clone.path.iterdir()} == before


def shows_orders(make: Process, clone: Clone) -> bool:
    assert make.poll() is None, clone.log.read_text()
    return "taking orders\n00:" in clone.log.read_text()


def interrupt_demo(make: Process) -> None:
    """What Ctrl-C does to the demo. At a terminal make gets it too, and dies of it once the demo has ended."""
    [demo] = psutil.Process(make.pid).children()
    demo.send_signal(signal.SIGINT)


# --- the walk on own servers


@dataclass
class Walk:
    """The README's blocks, one after the other, as a reader would work through them."""

    server: PostgresServer
    kafka: Kafka
    clone: Clone
    directory: Path
    said: dict[str, str] = field(default_factory=dict)  # by command
    relay: Process | None = None
    record: dict[str, str] = field(default_factory=dict)
    http: str = field(default_factory=lambda: f"127.0.0.1:{free_port()}")

    def take(self, block: Block) -> None:
        match block.language:
            case "sh":
                for line in block.text.splitlines():
                    self.execute(line)
            case "sql":
                self.said[block.text] = self.psql(block.text)
            case "yaml":
                (self.directory / "relay.yaml").write_text(self.here(block.text))
            case "text":
                self.record = dict(re.findall(r"^(\w+|header id)  +(.*)$", block.text, re.MULTILINE))

    def here(self, text: str) -> str:
        """The addresses of this test's servers for those of the README."""
        places = {"localhost:5432": f"127.0.0.1:{self.server.port}", "localhost:9092": self.kafka.bootstrap}
        for theirs, ours in {**places, "127.0.0.1:9464": self.http}.items():
            text = text.replace(theirs, ours)
        return text

    def execute(self, line: str) -> None:
        words = shlex.split(self.here(line), comments=True)
        count = next(index for index, word in enumerate(words) if not ASSIGNMENT.fullmatch(word))
        given, words = dict(word.split("=", 1) for word in words[:count]), words[count:]
        if line.endswith(RUN):
            self.start_relay(words, given)
        elif words[0] == "curl":
            self.said[line] = fetch(words[-1])
        else:
            place = self.clone.path if line == INSTALL else self.directory
            self.said[line] = self.run(words, given, place)

    def run(self, words: list[str], given: dict[str, str], place: Path) -> str:
        answer = subprocess.run(
            words, cwd=place, env=self.environment(given), capture_output=True, text=True, check=False, timeout=240
        )
        assert answer.returncode == 0, answer.stdout + answer.stderr
        return answer.stdout

    def start_relay(self, words: list[str], given: dict[str, str]) -> None:
        program = shutil.which(words[0], path=self.environment(given)["PATH"])
        assert program is not None
        log = self.directory / "stderr"
        self.relay = spawn([program, *words[1:]], log=log, env=self.environment(given), cwd=self.directory)
        wait_until(self.is_ready, timeout=60, what=f"/readyz is 200\n{log}")

    def is_ready(self) -> bool:
        assert self.relay is not None and self.relay.poll() is None, (self.directory / "stderr").read_text()
        try:
            return bool(json.loads(fetch(f"http://{self.http}/readyz")))
        except OSError:
            return False

    def environment(self, given: dict[str, str]) -> dict[str, str]:
        """The programs of a virtual environment of its own come first."""
        path = f"{self.directory / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return {**self.clone.environment(), "PATH": path, **given}

    def psql(self, sql: str) -> str:
        script = self.directory / "script.sql"
        script.write_text(sql)
        return self.server.psql("-f", str(script), dbname="orders")


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return str(answer.read().decode())


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    place = scratch_dir("walk")
    yield place
    remove_scratch(place)


@pytest.mark.kafka
def test_the_walk_on_own_servers(make_postgres: MakePostgres, kafka: Kafka, clone: Clone, directory: Path) -> None:
    server = make_postgres()
    server.execute("CREATE DATABASE orders")  # what the reader has
    venv.create(directory / "venv", with_pip=True)
    walk = Walk(server, kafka, clone, directory)
    try:
        for block in blocks():
            if block.section in WALK:
                walk.take(block)
        see_that_setup_made_everything(walk)
        see_the_record(walk)
        see_what_was_said(walk)
        assert walk.relay is not None
        assert end(walk.relay, with_signal=signal.SIGTERM, timeout=60) == 0
    finally:
        if walk.relay is not None and walk.relay.poll() is None:
            walk.relay.kill()


def see_that_setup_made_everything(walk: Walk) -> None:
    said = {line.split("cdc-relay ")[-1]: text for line, text in walk.said.items()}
    assert "publication orders_outbox: created" in said["setup -c relay.yaml"]
    assert "pg_create_logical_replication_slot" in said["setup -c relay.yaml --print"]


def see_the_record(walk: Walk) -> None:
    """The record is on the topic as the README shows it."""
    [(event_id, created_at)] = walk.server.execute("SELECT id::text, created_at FROM outbox", dbname="orders")
    records = wait_for_records(walk.kafka.bootstrap, walk.record["topic"], 1)
    [record] = [record for record in records if record.headers() == [("id", event_id.encode())]]
    assert (record.key() or b"").decode() == walk.record["key"]
    assert (record.value() or b"").decode() == walk.record["value"]
    assert abs(record.timestamp()[1] / 1000 - created_at.timestamp()) < 60
    assert set(walk.record) == {"topic", "key", "value", "header id", "timestamp"}


def see_what_was_said(walk: Walk) -> None:
    """By the commands after the start of the relay."""
    shown = yaml.safe_load(walk.said["cdc-relay config show -c relay.yaml"])
    assert shown["source"]["slot"] == "orders_outbox"
    assert json.loads(walk.said["cdc-relay config schema"])["title"] == "cdc-relay configuration"
    assert json.loads(walk.said["curl -s http://127.0.0.1:9464/livez"])["status"] == "ok"
    assert json.loads(walk.said["curl -s http://127.0.0.1:9464/readyz"])["role"] == "reader"
    assert "outbox_published_total" in walk.said["curl -s http://127.0.0.1:9464/metrics"]
    [slot] = [answer for sql, answer in walk.said.items() if "FROM pg_replication_slots" in sql]
    assert re.search(r"orders_outbox +\| t +\| reserved", slot)
