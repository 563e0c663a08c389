"""Templates such as `outbox.event.{aggregatetype}`: parsed once, bound to a relation's columns, rendered from a row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from cdc_relay.errors import ConfigError

__all__ = ["Template"]

_PART = re.compile(r"\{([^{}]*)\}")


class Template(NamedTuple):
    """Literal texts with column names between them: len(literals) == len(columns) + 1."""

    literals: tuple[str, ...]
    columns: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Template:
        pieces = _PART.split(text)
        literals, columns = tuple(pieces[::2]), tuple(pieces[1::2])
        if any("{" in literal or "}" in literal for literal in literals) or not all(columns):
            raise ConfigError(f"template {text!r}: every '{{' needs a column name and a '}}'")
        return cls(literals, columns)

    def __str__(self) -> str:
        pieces = [self.literals[0]]
        for column, literal in zip(self.columns, self.literals[1:], strict=True):
            pieces += (f"{{{column}}}", literal)
        return "".join(pieces)

    def render(self, values: Sequence[bytes | None]) -> str | None:
        """None when a value is NULL: half a name is worse than none."""
        if any(value is None for value in values):
            return None
        pieces = [self.literals[0]]
        for value, literal in zip(values, self.literals[1:], strict=True):
            pieces += (bytes(value or b"").decode("utf-8", "replace"), literal)
        return "".join(pieces)
