"""`cdc-relay status` as operators run it: the command in a process of its own, on the file of a relay or of nobody."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.fixtures.database import Database
from tests.fixtures.outbox import create_lot, create_outbox, make_slot
from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import Config, relay_config
from tests.fixtures.scratch import free_port

__all__ = [
    "Status",
    "config_of",
    "look",
    "look_json",
    "prepare",
    "run_cdc_relay",
    "sections",
    "wait_for_report",
    "write_config",
]

LIMIT_SECONDS = 90

Status = dict[str, Any]  # the JSON document


def look(config_file: Path, *arguments: str, exit_code: int = 0) -> str:
    """What it printed."""
    line = [sys.executable, "-m", "cdc_relay", "status", "-c", str(config_file), *arguments]
    done = subprocess.run(line, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert done.returncode == exit_code, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stdout


def look_json(config_file: Path, *arguments: str, exit_code: int = 0) -> Status:
    return dict(json.loads(look(config_file, "--json", *arguments, exit_code=exit_code)))


def wait_for_report(config_file: Path, is_so: Any, *, what: str, timeout: float = 90) -> Status:
    """The first document of which it is so; one that is not complete yet is asked for again."""
    seen: list[Status] = []

    def is_there() -> bool:
        seen.append(look_json(config_file))
        return bool(is_so(seen[-1]))

    wait_until(is_there, timeout=timeout, what=what)
    return seen[-1]


def write_config(config: Config, directory: Path) -> Path:
    path = directory / "status.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    return path


def run_cdc_relay(command: str) -> str:
    """A command as `status` prints it; what it printed."""
    name, *arguments = shlex.split(command)
    assert name == "cdc-relay"
    done = subprocess.run(
        [sys.executable, "-m", "cdc_relay", *arguments], capture_output=True, text=True, timeout=LIMIT_SECONDS
    )
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout


def prepare(database: Database) -> str:
    slot = f"status_{database.name}"
    with database.connect() as conn:
        create_lot(conn)
        create_outbox(conn)
        make_slot(conn, slot, slot)
    return slot


def config_of(database: Database, slot: str, directory: Path, *, user: str = "postgres", **overrides: Any) -> Path:
    nowhere = f"127.0.0.1:{free_port()}"
    config = relay_config(database.dsn(user), slot, slot, "public.outbox", nowhere, **overrides)
    return write_config(config, directory)


def sections(seen: Status) -> list[str]:
    return [trouble["section"] for trouble in seen["troubles"]]
