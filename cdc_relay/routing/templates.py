"""Templates such as `outbox.event.{aggregatetype}`: parsed once, bound to a relation's columns, rendered from a row."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cdc_relay.errors import ConfigError
from cdc_relay.routing.fields import Field, Read, Values
from cdc_relay.routing.places import Places

__all__ = ["Template"]

_PART = re.compile(r"\{([^{}]*)\}")


class Template(NamedTuple):
    """Literal texts with fields between them: len(literals) == len(fields) + 1."""

    literals: tuple[str, ...]
    fields: tuple[Field, ...] = ()

    @classmethod
    def parse(cls, text: str, read_field: Callable[[str], Field] = Field.parse) -> Template:
        pieces = _PART.split(text)
        literals, names = tuple(pieces[::2]), pieces[1::2]
        if any("{" in literal or "}" in literal for literal in literals) or not all(names):
            raise ConfigError(f"template {text!r}: every '{{' needs a column name and a '}}'")
        return cls(literals, tuple(read_field(name) for name in names))

    @classmethod
    def of(cls, column: str) -> Template:
        """The column itself."""
        return cls(("", ""), (Field(column),))

    def __str__(self) -> str:
        return self.spell(str)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(field.column for field in self.fields)

    @property
    def is_fixed(self) -> bool:
        """The same for every row."""
        return not self.fields

    def spell(self, spell_field: Callable[[Field], str]) -> str:
        pieces = [self.literals[0]]
        for field, literal in zip(self.fields, self.literals[1:], strict=True):
            pieces += (f"{{{spell_field(field)}}}", literal)
        return "".join(pieces)

    def render(self, values: Sequence[bytes | None]) -> bytes | None:
        """From the values of its fields; see bind."""
        if self.literals == ("", ""):
            return values[0]
        pieces = [self.literals[0].encode()]
        for value, literal in zip(values, self.literals[1:], strict=True):
            if value is None:
                return None
            pieces += (value, literal.encode())
        return b"".join(pieces)

    def bind(self, places: Places) -> Read:
        """A field alone is its bytes; with texts around it, None as soon as one is NULL: half a name is worse."""
        readers = [places.reader(field) for field in self.fields]
        if not readers:
            fixed = self.literals[0].encode()
            return lambda row: fixed
        if self.literals == ("", ""):
            return readers[0]
        return _Joined([literal.encode() for literal in self.literals], readers)


class _Joined:
    __slots__ = ("_literals", "_readers")

    def __init__(self, literals: list[bytes], readers: list[Read]) -> None:
        self._literals = literals
        self._readers = readers

    def __call__(self, row: Values) -> bytes | None:
        pieces = [self._literals[0]]
        for read, literal in zip(self._readers, self._literals[1:], strict=True):
            value = read(row)
            if value is None:
                return None
            pieces += (value, literal)
        return b"".join(pieces)
