"""Mutants of a function's body, in children of one process that has collected its tests: nothing is imported anew.

A function keeps its identity and gets other code, so that whoever imported it runs the mutant.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType

import pytest

from tests.mutation.child import OPTIONS, Trial, Verdict, Witness, prepare, silence, wait_for
from tests.mutation.mutant import Mutant

__all__ = ["try_swapped"]

_FIRST_SECONDS = 600
_LEAST_SECONDS = 3
_VERDICTS = {0: Verdict.SURVIVED, -signal.SIGXCPU: Verdict.SLOW, -signal.SIGKILL: Verdict.SLOW}  # of exit codes
_TIMES_UNCHANGED = 3  # so much more time than without the mutant, and it will not end


def try_swapped(module: str, file: str, mutants: Sequence[Mutant], tests: Sequence[str]) -> Iterator[tuple[str, Trial]]:
    """The first one, under the name of nobody, is the code as it is."""
    reader, writer = os.pipe()
    worker = os.fork()
    if worker == 0:
        os.close(reader)
        _be_worker(_Trials(module, file, mutants, writer), tests)
    os.close(writer)
    with os.fdopen(reader) as told:
        for line in told:
            name, verdict, seconds, test = json.loads(line)
            yield name, Trial(Verdict(verdict), seconds, test)
    _, status = os.waitpid(worker, 0)
    if status:
        raise RuntimeError(f"{module}: its tests could not be collected: {os.waitstatus_to_exitcode(status)}")


def _be_worker(trials: _Trials, tests: Sequence[str]) -> None:
    code = 1
    try:
        silence()
        code = int(pytest.main([*OPTIONS, *tests], plugins=[trials]))
    finally:
        os._exit(code)


class _Trials:
    """Instead of the tests: the tests once for each mutant."""

    def __init__(self, module: str, file: str, mutants: Sequence[Mutant], writer: int) -> None:
        self._module = module
        self._file = file
        self._mutants = mutants
        self._writer = writer

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        unchanged = self._try(session, None, _FIRST_SECONDS)
        self._tell("", unchanged)
        cpu_seconds = math.ceil(max(_LEAST_SECONDS, _TIMES_UNCHANGED * unchanged.seconds))
        for mutant in self._mutants:
            self._tell(mutant.name, self._try(session, mutant, cpu_seconds))
        return True

    def _tell(self, name: str, trial: Trial) -> None:
        line = json.dumps([name, trial.verdict, trial.seconds, trial.test])
        os.write(self._writer, f"{line}\n".encode())

    def _try(self, session: pytest.Session, mutant: Mutant | None, cpu_seconds: int) -> Trial:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            self._be_child(session, mutant, cpu_seconds, writer)
        os.close(writer)
        status, seconds = wait_for(child)
        with os.fdopen(reader) as told:
            test = told.read().partition("\n")[0]
        return Trial(_VERDICTS.get(status, Verdict.KILLED), seconds, test)

    def _be_child(self, session: pytest.Session, mutant: Mutant | None, cpu_seconds: int, writer: int) -> None:
        code = 1
        try:
            prepare(cpu_seconds)
            if mutant is not None:
                _swap(self._module, mutant, mutant.compile(self._file))
            session.config.pluginmanager.register(Witness(writer))
            code = _run(session)
        finally:
            os._exit(code)


def _run(session: pytest.Session) -> int:
    for item, following in zip(session.items, [*session.items[1:], None], strict=True):
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return 1
    return 0


def _swap(module: str, mutant: Mutant, changed: CodeType) -> None:
    names = mutant.spot.function.split(".")
    holder: object = sys.modules.get(module) or importlib.import_module(module)
    for name in names[:-1]:
        holder = getattr(holder, name)
    found = vars(holder)[names[-1]]
    if isinstance(found, property):
        found = found.fget
    assert isinstance(found, FunctionType), mutant.spot.function
    found.__code__ = _find_code(changed, names)


def _find_code(code: CodeType, names: Sequence[str]) -> CodeType:
    for name in names:
        code = next(each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == name)
    return code
