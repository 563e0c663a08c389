"""What a run found out: a flat list of measurements, written to a file as they come, with what they were taken on."""

from __future__ import annotations

import json
import os
import platform
import re
import statistics
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.fixtures.postgres_install import Install, find_install

__all__ = ["Book", "Measurement", "load", "machine_facts", "median_of"]


@dataclass(frozen=True)
class Measurement:
    """One peer in one round. Names of values end with their unit."""

    part: str  # hot, cold, latency, …
    workload: str
    peer: str
    round: int
    values: Mapping[str, float]


@dataclass
class Book:
    """Saved after each entry, so that an aborted run leaves what it has."""

    path: Path | None = None
    facts: dict[str, Any] = field(default_factory=dict)  # whatever describes machine and versions
    entries: list[Measurement] = field(default_factory=list)

    def add(self, entry: Measurement) -> None:
        self.entries.append(entry)
        self.save()

    def save(self) -> None:
        if self.path is not None:
            content = {"facts": self.facts, "entries": [asdict(entry) for entry in self.entries]}
            self.path.write_text(json.dumps(content, indent=1) + "\n")

    def of(self, part: str, workload: str, peer: str) -> list[Measurement]:
        return [entry for entry in self.entries if (entry.part, entry.workload, entry.peer) == (part, workload, peer)]

    def median(self, part: str, workload: str, peer: str, value: str) -> float | None:
        return median_of(entry.values.get(value) for entry in self.of(part, workload, peer))


def median_of(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def load(paths: Iterable[Path]) -> Book:
    """Several files make one book: parts may be run one at a time."""
    book = Book()
    for path in paths:
        content = json.loads(path.read_text())
        book.facts |= content["facts"]
        book.entries += [Measurement(**entry) for entry in content["entries"]]
    return book


def machine_facts() -> dict[str, Any]:
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    return {
        "made": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "processor": found.group(1) if found else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(int(memory.group(1)) / 1e6) if memory else 0,
        "kernel": platform.release(),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in ("cdc-relay", "confluent-kafka", "psycopg")},
        "java": _java_version(),
        "servers": {"postgres": _postgres_versions(), "kafka": "3.9.1", "debezium": "3.2.7.Final"},
        "commit": _said(["git", "rev-parse", "--short", "HEAD"]),
    }


def _postgres_versions() -> list[str]:
    """TLS runs on the older one."""
    installs = [find_install(version) for version in (18, 15)]
    servers = [install.bindir / "postgres" for install in installs if isinstance(install, Install)]
    return [_said([str(server), "--version"]) for server in servers]


def _java_version() -> str:
    return _said(["java", "--version"]).partition("\n")[0]


def _said(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()
