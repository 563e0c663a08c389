"""What is wrong with a configuration file, as places and sentences; the only place that words pydantic's errors.

pydantic's own messages quote the input, which may be a secret: only its error types and places are used here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from cdc_relay.config.fields import kind_of_value

__all__ = ["KeyPath", "Problem", "show_path", "translate"]

KeyPath = tuple[str | int, ...]
_SHOWN_CHARS = 60  # of a key: the line says where it is


class Problem(NamedTuple):
    line: int
    column: int
    path: KeyPath
    text: str

    def order(self) -> tuple[int, int, str, str]:
        return self.line, self.column, show_path(self.path), self.text

    def show(self, file: str) -> str:
        where = f"{show_path(self.path)}: " if self.path else ""
        return f"{file}:{self.line}: {where}{self.text}"


def show_path(path: Iterable[str | int]) -> str:
    shown = ""
    for step in path:
        if isinstance(step, int):
            shown += f"[{step}]"
        else:
            shown += ("." if shown else "") + _shorten(step if step.isprintable() else repr(step))
    return shown


def _shorten(step: str) -> str:
    return step if len(step) <= _SHOWN_CHARS else f"{step[:_SHOWN_CHARS]}…"


def translate(error: ValidationError) -> Iterator[tuple[KeyPath, str]]:
    for details in error.errors(include_url=False):
        yield _path(details["loc"]), _word(details)


def _path(location: KeyPath) -> KeyPath:
    """pydantic's place of a key that is wrong itself is one step below it."""
    return location[:-1] if location[-1:] == ("[key]",) else location


def _word(details: ErrorDetails) -> str:
    match details["type"]:
        case "relay":
            return details["msg"]
        case "value_error":
            return str(details["ctx"]["error"])
        case "missing":
            return "missing; it is required"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"expected a mapping, found {kind_of_value(details['input'])}"
        case "tuple_type":
            return f"expected a list, found {kind_of_value(details['input'])}"
        case "extra_forbidden":
            return "unknown key"
        case "bool_parsing" | "bool_type":
            return "neither yes nor no; write true or false"
        case other:
            return f"not valid ({other}); see docs/configuration.md for what may stand here"
