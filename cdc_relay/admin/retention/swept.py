"""What a pass did with one table, or why it did nothing; and the tally from which that is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["LOT", "Swept", "Tally"]

LOT = "cdc_relay.parked_records"


@dataclass(frozen=True, slots=True)
class Swept:
    """Of a dry run: what would have been done."""

    label: str
    removed: int = 0  # rows, those of dropped partitions included
    is_more: bool = False  # a dry run stops counting somewhere
    made: tuple[str, ...] = ()  # partitions
    dropped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what was left alone, and is no trouble
    trouble: str = ""
    remedy: str = ""

    @property
    def is_change(self) -> bool:
        return bool(self.removed or self.made or self.dropped)


class Tally:
    """Grows with each step, so that an error in the middle hides nothing that was done before it."""

    def __init__(
        self, label: str, *, pause: Callable[[float], bool], on_removed: Callable[[str, int], None], dry_run: bool
    ) -> None:
        self.label = label
        self._on_removed = on_removed
        self.pause = pause  # so many seconds; True: go no further
        self.dry_run = dry_run
        self.removed = 0
        self.is_more = False
        self.made: list[str] = []
        self.dropped: list[str] = []
        self.notes: list[str] = []

    def add_removed(self, count: int) -> None:
        self.removed += count
        if count and not self.dry_run:
            self._on_removed(self.label, count)

    def swept(self, trouble: str = "", remedy: str = "") -> Swept:
        return Swept(
            self.label,
            removed=self.removed,
            is_more=self.is_more,
            made=tuple(self.made),
            dropped=tuple(self.dropped),
            notes=tuple(self.notes),
            trouble=trouble,
            remedy=remedy,
        )
