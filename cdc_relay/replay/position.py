"""How far a run is: everything up to here is published, parked or dropped. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Position"]


class Position(NamedTuple):
    outbox: int = 0  # place in the selection
    leaf: int = 0  # oid of the table, or of the partition; 0: none yet
    filenode: int = 0  # another one: the table was rewritten, and no row is where it was
    block: int = 0
    line: int = 0  # in the block; the last row that was taken
    id_count: int = 0  # of the ids, instead of a place

    def as_json(self) -> dict[str, int]:
        return self._asdict()

    @classmethod
    def from_json(cls, kept: dict[str, Any] | None) -> Position:
        return cls(**{name: int(value) for name, value in (kept or {}).items() if name in cls._fields})

    @property
    def tid(self) -> str:
        return f"({self.block},{self.line})"
