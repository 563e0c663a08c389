"""`cdc-relay status` as operators run it: the command in a process of its own, on the file of a relay or of nobody."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import Config

__all__ = ["Status", "look", "look_json", "wait_for_report", "write_config"]

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
