"""What all trials of mutants share: the verdicts, how pytest is called, and how a forked child is waited for."""

from __future__ import annotations

import importlib
import os
import resource
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import hypothesis
import pytest

__all__ = ["OPTIONS", "Trial", "Verdict", "Witness", "prepare", "silence", "wait_for", "warm_up"]

_MEMORY_BYTES = 4 << 30  # a loop that never ends must not take the machine with it
# The compiled twins are no mutants, and the conftest of all tests brings servers that no unit test needs.
_TESTS = "not native and not AgainstModel"
OPTIONS = ("-x", "-q", "--noconftest", "-p", "tests.unit.conftest", "-p", "no:cacheprovider", "-k", _TESTS)
_LIBRARIES = ("click", "confluent_kafka", "psycopg", "pydantic", "structlog", "yaml", "xdist", "pytest_timeout")


class Verdict(StrEnum):
    KILLED = "killed"
    SLOW = "endless"  # it used up its time: counts as killed, for the tests would not have ended
    UNFIT = "unfit"  # no test could be collected: counts for nothing
    SURVIVED = "survived"


@dataclass(frozen=True, slots=True)
class Trial:
    verdict: Verdict
    seconds: float  # of the processor
    test: str = ""  # which noticed


def warm_up() -> None:
    """What every child would import and set up itself. Chance is fixed: a verdict must not depend on it."""
    os.environ["CDC_RELAY_NATIVE"] = "0"
    for name in _LIBRARIES:
        importlib.import_module(name)
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("mutate", derandomize=True, database=None, deadline=None, phases=phases)
    hypothesis.settings.load_profile("mutate")


def prepare(cpu_seconds: int) -> None:
    """In the child. Its own time is limited, not the clock's: how busy the machine is must decide nothing."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))


def silence() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def wait_for(child: int) -> tuple[int, float]:
    """The exit code, negative for a signal, and how much of the processor's time it took."""
    _, status, usage = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime


class Witness:
    """Tells which test failed."""

    def __init__(self, writer: int) -> None:
        self._writer = writer

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self._writer, f"{Path(report.nodeid).name}\n".encode())
