"""One mutant against its tests, in a forked child: the parent has imported the libraries, but nothing of ours."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import CodeType, ModuleType

import hypothesis
import pytest

__all__ = ["Trial", "Verdict", "warm_up", "try_code"]

_NO_START = 70  # pytest could not even begin
_MEMORY_BYTES = 4 << 30  # a loop that never ends must not take the machine with it
# The compiled twins are no mutants, and the conftest of all tests brings servers that no unit test needs.
_OPTIONS = ("-x", "-q", "--noconftest", "-p", "tests.unit.conftest", "-p", "no:cacheprovider", "-k", "not native")
_LIBRARIES = ("click", "confluent_kafka", "psycopg", "pydantic", "structlog", "yaml", "xdist", "pytest_timeout")


class Verdict(StrEnum):
    KILLED = "killed"
    SLOW = "too slow"  # counts as killed: the tests would not have ended
    UNFIT = "unfit"  # no test could be collected: counts for nothing
    SURVIVED = "survived"


_VERDICTS: dict[int, Verdict] = {
    pytest.ExitCode.OK: Verdict.SURVIVED,
    pytest.ExitCode.TESTS_FAILED: Verdict.KILLED,
    pytest.ExitCode.INTERRUPTED: Verdict.UNFIT,
    _NO_START: Verdict.UNFIT,
}


@dataclass(frozen=True, slots=True)
class Trial:
    verdict: Verdict
    seconds: float
    test: str = ""  # which noticed


def warm_up() -> None:
    """What every child would import and set up itself. Chance is fixed: a verdict must not depend on it."""
    os.environ["CDC_RELAY_NATIVE"] = "0"
    for name in _LIBRARIES:
        importlib.import_module(name)
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("mutate", derandomize=True, database=None, deadline=None, phases=phases)
    hypothesis.settings.load_profile("mutate")


def try_code(module: str, code: CodeType | None, tests: Sequence[str], *, deadline_seconds: float) -> Trial:
    """Without code: the module as it is."""
    mine = [name for name in sys.modules if name == "cdc_relay" or name.startswith("cdc_relay.")]
    if mine:
        raise RuntimeError(f"imported too early, so that no change can be seen: {mine[0]}")
    started = time.monotonic()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _be_child(module, code, tests, writer)
    os.close(writer)
    status = _wait(child, started + deadline_seconds)
    with os.fdopen(reader) as told:
        test = told.read().partition("\n")[0] if status is not None else ""
    return Trial(_judge(status), time.monotonic() - started, test)


def _be_child(module: str, code: CodeType | None, tests: Sequence[str], writer: int) -> None:
    exit_code = _NO_START
    try:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
        if code is not None:
            sys.meta_path.insert(0, _Planted(module, code))
        exit_code = int(pytest.main([*_OPTIONS, *tests], plugins=[_Witness(writer)]))
    finally:
        os._exit(exit_code)


def _wait(child: int, deadline: float) -> int | None:
    """The exit code, negative for a signal; None if it had to be ended."""
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _judge(status: int | None) -> Verdict:
    if status is None:
        return Verdict.SLOW
    if status in (pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.USAGE_ERROR):
        raise RuntimeError(f"pytest found no tests, or not these: exit {status}")
    return _VERDICTS.get(status, Verdict.KILLED)  # else the process died of it


class _Planted(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the changed code to whoever imports the module."""

    def __init__(self, module: str, code: CodeType) -> None:
        self._module = module
        self._code = code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(fullname, self) if fullname == self._module else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, module.__dict__)


class _Witness:
    """Tells which test failed."""

    def __init__(self, writer: int) -> None:
        self._writer = writer

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self._writer, f"{Path(report.nodeid).name}\n".encode())
