"""Which rows a run is about, as a value that is kept with the run. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from cdc_relay.errors import ConfigError

__all__ = ["Selection", "parse_ids", "resolve"]


@dataclass(frozen=True, slots=True)
class Selection:
    """All that is given must hold. `since` is included, `until` is not; both as Postgres reads them, in UTC."""

    outboxes: tuple[str, ...]
    since: str | None = None
    until: str | None = None
    where: str | None = None
    ids: tuple[str, ...] | None = None

    @property
    def has_times(self) -> bool:
        return self.since is not None or self.until is not None

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> Selection:
        ids = kept.get("ids")
        return cls(
            outboxes=tuple(kept["outboxes"]),
            since=kept.get("since"),
            until=kept.get("until"),
            where=kept.get("where"),
            ids=None if ids is None else tuple(ids),
        )

    def __str__(self) -> str:
        parts = [f"since {self.since}" if self.since else "", f"until {self.until}" if self.until else ""]
        parts += [f"where {self.where}" if self.where else "", "" if self.ids is None else f"{len(self.ids):,} ids"]
        return ", ".join(part for part in parts if part) or "all rows"


def resolve(moment: datetime | timedelta | None, *, now: datetime | None = None) -> str | None:
    """How long ago, or a time, as a time: a run that goes on tomorrow is about the same rows."""
    if moment is None:
        return None
    at = (now or datetime.now(UTC)) - moment if isinstance(moment, timedelta) else moment
    return at.astimezone(UTC).isoformat(sep=" ")


def parse_ids(lines: Iterable[str]) -> tuple[str, ...]:
    """One per line, blank lines aside; each once, in the file's order."""
    ids = tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not ids:
        raise ConfigError("--ids: the file has no event id", remedy="give one event id per line")
    if any("\x00" in each for each in ids):
        raise ConfigError("--ids: the file has a NUL character", remedy="give one event id per line, as plain text")
    return ids
