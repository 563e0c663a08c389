"""How much of what is covered. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["Share", "find_shares"]


class Share(NamedTuple):
    what: str
    covered: int
    total: int

    @property
    def percent(self) -> float:
        return 100.0 * self.covered / self.total if self.total else 100.0

    def __str__(self) -> str:
        return f"{self.what}: {self.covered:,} of {self.total:,}, {self.percent:.2f} %"


def find_shares(totals: Mapping[str, float]) -> list[Share]:
    """Of coverage.py's `totals`. A branch is a way out of a line that has several."""
    lines = Share("lines", int(totals["covered_lines"]), int(totals["num_statements"]))
    return [lines, Share("branches", int(totals["covered_branches"]), int(totals["num_branches"]))]
