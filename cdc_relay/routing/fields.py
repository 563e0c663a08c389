"""Fields: a column, or a place inside a JSON column (`payload.customer.id`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Field", "Read", "Values"]

Values = tuple[bytes | None, ...]  # an inserted row: every column is there
Read = Callable[[Values], bytes | None]


class Field(NamedTuple):
    column: str
    path: tuple[str, ...] = ()  # names, or numbers for the places of an array

    @classmethod
    def parse(cls, text: str) -> Field:
        """Plain names; the configuration reads SQL identifiers."""
        column, *path = text.split(".")
        return cls(column, tuple(path))

    def __str__(self) -> str:
        return ".".join((self.column, *self.path))
