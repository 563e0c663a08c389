"""A finding of `check`: how bad, what was found, and the steps that repair it. Pure.

What is at stake belongs to the name and stands in entries.py, so that the document and the output say the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from cdc_relay.admin.check.entries import ENTRIES, ORDER
from cdc_relay.sources.remedy import Step

__all__ = ["Finding", "Level", "fail", "in_order", "ok", "warn"]


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"  # works now, and may hurt later
    FAIL = "fail"  # does not work, or loses something


@dataclass(frozen=True, slots=True)
class Finding:
    level: Level
    name: str
    found: str
    steps: tuple[Step, ...] = ()

    @property
    def stake(self) -> str:
        return ENTRIES[self.name].stake


def ok(name: str, found: str) -> Finding:
    return Finding(Level.OK, name, found)


def warn(name: str, found: str, *steps: Step) -> Finding:
    return Finding(Level.WARN, name, found, steps)


def fail(name: str, found: str, *steps: Step) -> Finding:
    return Finding(Level.FAIL, name, found, steps)


def in_order(findings: list[Finding]) -> list[Finding]:
    """As the entries are listed; of one name as they were found."""
    return sorted(findings, key=lambda finding: ORDER[finding.name])
