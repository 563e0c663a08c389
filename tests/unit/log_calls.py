"""Every line that the package can log, read from its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["LogCall", "find_calls"]

LEVELS = ("debug", "info", "warning", "error", "exception", "critical", "log")


class LogCall(NamedTuple):
    place: str
    level: str
    event: str  # empty where it is no literal
    fields: frozenset[str]


def find_calls(package: Path) -> Iterator[LogCall]:
    for file in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_log(node.func):
                yield _read(node, node.func.attr, f"{file.relative_to(package)}:{node.lineno}")


def _is_log(function: ast.Attribute) -> bool:
    logger = ast.unparse(function.value)
    return function.attr in LEVELS and (logger in ("log", "_log") or "get_logger()" in logger)


def _read(call: ast.Call, level: str, place: str) -> LogCall:
    name = call.args[1 if level == "log" else 0]
    event = name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""
    fields = frozenset(keyword.arg for keyword in call.keywords if keyword.arg not in (None, "exc_info"))
    return LogCall(place, "error" if level == "exception" else level, event, fields)
