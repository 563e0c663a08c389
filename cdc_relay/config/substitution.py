"""${ENV_VAR} and ${file:PATH} inside strings, in one pass: what was put in is never looked at again.

Messages name the variable or the file, never what was in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cdc_relay.config.document import Document, Value, is_text
from cdc_relay.config.problems import KeyPath

__all__ = ["Substitution", "escape"]

_REFERENCE = re.compile(r"\$\$\{|\$\{(?P<name>[^}]*)\}|\$\{")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FILE = "file:"
_LONGEST_SECRET_BYTES = 1 << 20
_HOW = "expected ${NAME} or ${file:PATH}; write $${ for a literal ${"


def escape(text: str) -> str:
    """The spelling that reads back as this text."""
    return text.replace("${", "$${")


@dataclass(frozen=True, slots=True)
class Substitution:
    """Relative paths of files start at the folder of the configuration file."""

    environment: Mapping[str, str]
    folder: Path

    def apply(self, document: Document) -> None:
        document.root = self._walk(document, document.root, ())

    def _walk(self, document: Document, value: Value, path: KeyPath) -> Value:
        match value:
            case dict():
                return {key: self._walk(document, below, (*path, key)) for key, below in value.items()}
            case list():
                return [self._walk(document, below, (*path, place)) for place, below in enumerate(value)]
            case str():
                return self._fill_or_report(document, value, path)
            case _:
                return value

    def _fill_or_report(self, document: Document, text: str, path: KeyPath) -> str:
        try:
            return _check_text(_REFERENCE.sub(self._resolve, text))
        except ValueError as exc:
            document.report(path, str(exc))
            return ""

    def _resolve(self, match: re.Match[str]) -> str:
        if match[0] == "$${":
            return "${"
        name = match["name"] or ""
        if name.startswith(_FILE):
            return self._read_secret(name.removeprefix(_FILE))
        if not _VARIABLE.fullmatch(name):
            raise ValueError(_HOW)
        if name not in self.environment:
            raise ValueError(f"the environment variable {name} is not set")
        return self.environment[name]

    def _read_secret(self, name: str) -> str:
        try:
            with (self.folder / name).open("rb") as file:
                content = file.read(_LONGEST_SECRET_BYTES + 1)
        except (OSError, ValueError) as exc:
            reason = exc.strerror if isinstance(exc, OSError) else "not a path"
            raise ValueError(f"cannot read the file {name!r}: {reason}") from None
        return _decode(content, name)


def _decode(content: bytes, name: str) -> str:
    if len(content) > _LONGEST_SECRET_BYTES:
        raise ValueError(f"the file {name!r} is longer than 1 MiB")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise ValueError(f"the file {name!r} is not UTF-8 text") from None
    return text.removesuffix("\n").removesuffix("\r")


def _check_text(text: str) -> str:
    if "\0" in text:
        raise ValueError("contains a NUL character")
    if not is_text(text):
        raise ValueError("is not valid UTF-8 text")
    return text
