"""Copies of the repository in which faults are planted and tests run; the repository itself is never touched.

The virtual environment's cdc_relay is the repository's own, so every run is made to import the copy, and checked.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.breakage.fault import Fault, FaultError
from tests.breakage.recorder import RECORD_VARIABLE

__all__ = ["ROOT", "Outcome", "Workshop", "collect", "workshop"]

ROOT = Path(__file__).parents[2]
JARS = Path(".cache", "kafka-jars")  # fetched once, shared by all copies
TEST_SECONDS = 240  # a broken relay may make a test wait for everything it waits for


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a test ended: passed, failed, skipped, or not run at all."""

    word: str
    reason: str = ""


@contextmanager
def workshop() -> Iterator[Workshop]:
    with tempfile.TemporaryDirectory(prefix="cdc-relay-breakage-") as directory:
        yield Workshop(Path(directory))


class Workshop:
    """Keeps the repository as it was at the start: others may be writing in it while the faults are tried."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._pristine = directory / "pristine"
        _copy(ROOT, self._pristine)

    def check(self, faults: Sequence[Fault]) -> None:
        """All of them, before the first one takes its time."""
        for fault in faults:
            fault.broken(self._pristine)

    def run_unbroken(self, tests: Sequence[str]) -> dict[str, Outcome]:
        return self._run(None, tests)

    def run_broken(self, fault: Fault) -> dict[str, Outcome]:
        return self._run(fault, fault.tests)

    def _run(self, fault: Fault | None, tests: Sequence[str]) -> dict[str, Outcome]:
        """In a copy of its own: no compiled file of another run can be taken for this one's."""
        copy = self._directory / "copy"
        _copy(self._pristine, copy)
        try:
            if fault is not None:
                fault.plant(copy)
            _check_import(copy)
            return _run_tests(copy, tests)
        finally:
            shutil.rmtree(copy, ignore_errors=True)


def collect(tests: Sequence[str]) -> set[str]:
    """The node ids of all tests in the files of these."""
    files = sorted({test.partition("::")[0] for test in tests})
    missing = [file for file in files if not (ROOT / file).exists()]
    if missing:
        raise FaultError(f"no such test file: {', '.join(missing)}")
    done = _pytest(ROOT, ["--collect-only", "-q", *files], dict(os.environ))
    return {line for line in done.stdout.splitlines() if "::" in line}


def _copy(source: Path, target: Path) -> None:
    """Everything but what begins with a dot (environments, caches, history) and what Python compiled."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    jars = ROOT / JARS
    jars.mkdir(parents=True, exist_ok=True)
    (target / JARS.parent).mkdir()
    (target / JARS).symlink_to(jars)


def _environment(copy: Path) -> dict[str, str]:
    """Relays are started somewhere else than in the copy, hence the path. Faults are planted in the Python twins."""
    return {**os.environ, "PYTHONPATH": str(copy), "CDC_RELAY_NATIVE": "0"}


def _check_import(copy: Path) -> None:
    command = [sys.executable, "-c", "import cdc_relay; print(cdc_relay.__file__)"]
    elsewhere = copy.parent
    done = subprocess.run(command, cwd=elsewhere, env=_environment(copy), capture_output=True, text=True, check=False)
    if done.stdout.strip() != str(copy / "cdc_relay" / "__init__.py"):
        raise FaultError(f"cdc_relay is not imported from the copy: {done.stdout}{done.stderr}")


def _run_tests(copy: Path, tests: Sequence[str]) -> dict[str, Outcome]:
    record = copy / "record.jsonl"
    env = {**_environment(copy), RECORD_VARIABLE: str(record)}
    options = ["-p", "tests.breakage.recorder", "-p", "no:cacheprovider", f"--timeout={TEST_SECONDS}", "-q"]
    done = _pytest(copy, [*options, *tests], env)
    entries = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    found = {entry["test"]: Outcome(entry["outcome"], entry["reason"]) for entry in entries}
    nothing = Outcome("not run", " ".join((done.stdout + done.stderr).split())[-500:])
    return {test: found.get(test, nothing) for test in tests}


def _pytest(directory: Path, arguments: Sequence[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.run(command, cwd=directory, env=env, capture_output=True, text=True, check=False)
