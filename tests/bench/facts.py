"""What a run is made on: the machine, the versions of all that takes part, and whether the relay is compiled.

Asks others and measures nothing. A relay that is not compiled is several times slower: no run may hide it.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.compare.connect_worker import find_connect_jars
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.postgres_install import Install, find_install

__all__ = ["COMPILED", "PURE", "jar_version", "machine_facts", "relay_build", "require_compiled"]

COMPILED, PURE = "compiled", "pure Python"
_SWITCH = "CDC_RELAY_NATIVE"
_ASK = "from cdc_relay.native import is_native; print(is_native)"


def require_compiled(*, pure: bool = False) -> None:
    """Ends the run unless relays will be compiled; with `pure` no relay that starts from now on is."""
    if pure:
        os.environ[_SWITCH] = "0"
    elif relay_build() != COMPILED:
        why = f"{_SWITCH}=0 is set" if os.environ.get(_SWITCH) == "0" else "nothing was compiled when it was installed"
        raise SystemExit(
            f"the relay of {sys.executable} is not compiled: {why}.\n"
            "Install a C compiler and Python's headers, and the package again; or measure its Python with --pure."
        )


def machine_facts(*, with_debezium: bool = False) -> dict[str, Any]:
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    return {
        "made": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "relay": relay_build(),
        "processor": found.group(1) if found else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(int(memory.group(1)) / 1e6) if memory else 0,
        "kernel": platform.release(),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in ("cdc-relay", "confluent-kafka", "psycopg")},
        "java": _said(["java", "--version"]).partition("\n")[0],
        "servers": _server_versions(with_debezium=with_debezium),
        "commit": _said(["git", "rev-parse", "--short", "HEAD"]),
    }


def jar_version(folder: Path | str, name: str) -> str:
    """Of NAME-VERSION.jar; empty where there is none."""
    if isinstance(folder, str):
        return ""
    names = (re.fullmatch(rf"{re.escape(name)}-(\d.*)\.jar", jar.name) for jar in sorted(folder.iterdir()))
    return next((found.group(1) for found in names if found), "")


def relay_build() -> str:
    """Asked of the interpreter that starts relays, from a folder where no source code lies, as relays are."""
    done = _said([sys.executable, "-c", _ASK], cwd=tempfile.gettempdir())
    return COMPILED if done == "True" else PURE


def _server_versions(*, with_debezium: bool) -> dict[str, Any]:
    """Debezium's only if asked for: its jars are fetched at the first look."""
    versions: dict[str, Any] = {"postgres": _postgres_versions(), "kafka": jar_version(find_jars(), "kafka-clients")}
    if with_debezium and not isinstance(jars := find_connect_jars(), str):
        versions["connect"] = jar_version(jars[0], "connect-runtime")
        versions["debezium"] = jar_version(jars[1], "debezium-connector-postgres")
    return versions


def _postgres_versions() -> list[str]:
    """TLS runs on the older one."""
    installs = [find_install(number) for number in (18, 15)]
    servers = [install.bindir / "postgres" for install in installs if isinstance(install, Install)]
    return [_said([str(server), "--version"]) for server in servers]


def _said(command: list[str], *, cwd: str | None = None) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30, cwd=cwd)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()
