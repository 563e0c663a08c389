"""Mutants of what runs at the import of a module: each in a child that imports everything of ours anew."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import signal
import sys
from collections.abc import Sequence
from types import CodeType, ModuleType

import pytest

from tests.mutation.child import OPTIONS, Trial, Verdict, Witness, prepare, silence, wait_for

__all__ = ["try_planted"]

_NO_START = 70  # pytest could not even begin
_CPU_SECONDS = 60
_VERDICTS: dict[int, Verdict] = {
    -signal.SIGXCPU: Verdict.SLOW,
    -signal.SIGKILL: Verdict.SLOW,
    pytest.ExitCode.OK: Verdict.SURVIVED,
    pytest.ExitCode.INTERRUPTED: Verdict.UNFIT,
    _NO_START: Verdict.UNFIT,
}


def try_planted(module: str, code: CodeType, tests: Sequence[str]) -> Trial:
    """A file of tests at a time: most mutants do not survive the first, and the others need not be imported."""
    trial, seconds = Trial(Verdict.SURVIVED, 0.0), 0.0
    for test in tests:
        trial = _try(module, code, test)
        seconds += trial.seconds
        if trial.verdict is not Verdict.SURVIVED:
            break
    return Trial(trial.verdict, seconds, trial.test)


def _try(module: str, code: CodeType, test: str) -> Trial:
    if "cdc_relay" in sys.modules:
        raise RuntimeError("cdc_relay was imported too early, so that no change can be seen")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _be_child(module, code, test, writer)
    os.close(writer)
    status, seconds = wait_for(child)
    with os.fdopen(reader) as told:
        noticed = told.read().partition("\n")[0]
    if status in (pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.USAGE_ERROR):
        raise RuntimeError(f"pytest found no tests in {test}, or not these: exit {status}")
    return Trial(_VERDICTS.get(status, Verdict.KILLED), seconds, noticed)  # else it failed, or the process died


def _be_child(module: str, code: CodeType, test: str, writer: int) -> None:
    exit_code = _NO_START
    try:
        silence()
        prepare(_CPU_SECONDS)
        sys.meta_path.insert(0, _Planted(module, code))
        exit_code = int(pytest.main([*OPTIONS, test], plugins=[Witness(writer)]))
    finally:
        os._exit(exit_code)


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
