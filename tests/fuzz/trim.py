"""The fewest and smallest inputs that reach every line, and every step from line to line, that all together reach.

Plain tracing, without a fuzzer, so that what is committed does not depend on one. Compiled code has no lines: what
leads its Python twin everywhere is what it gets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any

from tests.fuzz.target import INSTRUMENTED, Target

__all__ = ["trim"]

Step = tuple[CodeType, int, int]


def trim(target: Target, inputs: Iterable[bytes]) -> list[bytes]:
    """Small ones first, each for what no smaller one reached; those that are findings are none of its business."""
    seen: set[Step] = set()
    chosen: list[bytes] = []
    for data in sorted(set(inputs), key=lambda data: (len(data), data)):
        reached = _reach(target, data)
        if not reached <= seen:
            seen |= reached
            chosen.append(data)
    return chosen


def _reach(target: Target, data: bytes) -> set[Step]:
    tracer = _Tracer(INSTRUMENTED[target.name])
    sys.settrace(tracer)
    try:
        target.check(data)
    finally:
        sys.settrace(None)
    return tracer.steps


class _Tracer:
    def __init__(self, prefixes: tuple[str, ...]) -> None:
        self.steps: set[Step] = set()
        self._prefixes = prefixes
        self._wanted: dict[CodeType, bool] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        return _LineTracer(self.steps, frame) if self._is_wanted(frame) else None

    def _is_wanted(self, frame: FrameType) -> bool:
        code = frame.f_code
        if code not in self._wanted:
            self._wanted[code] = str(frame.f_globals.get("__name__", "")).startswith(self._prefixes)
        return self._wanted[code]


class _LineTracer:
    def __init__(self, steps: set[Step], frame: FrameType) -> None:
        self._steps = steps
        self._last = frame.f_lineno

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        line = -frame.f_lineno if event == "exception" else frame.f_lineno
        self._steps.add((frame.f_code, self._last, line))
        self._last = line
        return self
