"""A fault: one small replacement in one file of cdc_relay that breaks a promise, and the tests that must notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Fault", "FaultError"]


class FaultError(Exception):
    """The fault cannot be planted: the code has changed, and the fault has to follow."""


@dataclass(frozen=True, slots=True)
class Fault:
    promise: int  # its number in the design
    title: str
    file: str  # from the root of the repository
    old: str  # must be there exactly once, or a refactoring would silently disarm the fault
    new: str
    tests: tuple[str, ...]  # node ids, each of one test: every one of them must fail

    def broken(self, root: Path) -> str:
        """The file's text with the fault in it."""
        text = (root / self.file).read_text()
        count = text.count(self.old)
        if count != 1:
            raise FaultError(f"{self.title}: {count} times instead of once in {self.file}:\n{self.old}")
        return text.replace(self.old, self.new)

    def plant(self, root: Path) -> None:
        (root / self.file).write_text(self.broken(root))
