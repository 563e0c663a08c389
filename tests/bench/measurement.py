"""What a run found out: a flat list of measurements, written to a file as they come, with what they were taken on."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from typing import Any

__all__ = ["Book", "Measurement", "fell_behind", "load", "median_of"]

KEPT_RATE_SHARE = 0.98  # of seven seconds 0.14 s are the harness's own: connecting, the last commit


@dataclass(frozen=True)
class Measurement:
    """One peer in one round. Names of values end with their unit."""

    part: str  # hot, cold, latency, …
    workload: str
    peer: str
    round: int
    values: Mapping[str, float]

    @property
    def counts(self) -> bool:
        """Not where the writers fell behind: with less to do, a peer is quicker."""
        return not fell_behind(self.values)


@dataclass
class Book:
    """Saved after each entry, so that an aborted run leaves what it has."""

    path: Path | None = None
    facts: dict[str, Any] = field(default_factory=dict)  # whatever describes machine and versions
    entries: list[Measurement] = field(default_factory=list)

    def add(self, entry: Measurement) -> None:
        self.entries.append(entry)
        self.save()

    def save(self) -> None:
        if self.path is not None:
            content = {"facts": self.facts, "entries": [asdict(entry) for entry in self.entries]}
            self.path.write_text(json.dumps(content, indent=1) + "\n")

    def of(self, part: str, workload: str, peer: str) -> list[Measurement]:
        """Those that do not count, too."""
        return [entry for entry in self.entries if (entry.part, entry.workload, entry.peer) == (part, workload, peer)]

    def median(self, part: str, workload: str, peer: str, value: str) -> float | None:
        return median_of(entry.values.get(value) for entry in self.of(part, workload, peer) if entry.counts)


def fell_behind(values: Mapping[str, float]) -> bool:
    """Whether a round that wanted rows at a steady rate had fewer."""
    return values.get("written_per_s", inf) < KEPT_RATE_SHARE * values.get("rate_per_s", 0)


def median_of(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def load(paths: Iterable[Path]) -> Book:
    """Several files make one book: parts may be run one at a time."""
    book, builds = Book(), set()
    for path in paths:
        content = json.loads(path.read_text())
        book.facts |= content["facts"]
        builds.add(content["facts"].get("relay", "not recorded"))
        book.entries += [Measurement(**entry) for entry in content["entries"]]
    if len(builds) > 1:  # the last file must not speak for all
        book.facts["relay"] = " and ".join(sorted(builds))
    return book
