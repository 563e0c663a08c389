"""Other slots of the database whose relays read the same tables: what is settled for one may not be for another."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from cdc_relay.sources.line import Line

__all__ = ["OtherReader", "read_others", "readers_of"]

# $1 the own slot
_OTHERS = """
SELECT json_build_object(
  'slot', g.slot, 'system', g.system_identifier::text, 'timeline', g.timeline, 'xid', g.settled_xid::text,
  'at', extract(epoch FROM g.settled_at), 'tables', g.fingerprint::json -> 'tables',
  'runs', (SELECT coalesce(json_agg(json_build_array(r.id, r.kind) ORDER BY r.began_at), '[]')
             FROM cdc_relay.replays r WHERE r.slot = g.slot AND r.state = 'running'),
  'gaps', (SELECT coalesce(json_agg(p.id::text ORDER BY p.id), '[]')
             FROM cdc_relay.gaps p WHERE p.slot = g.slot AND p.closed_at IS NULL))
  FROM cdc_relay.guard g WHERE g.slot <> $1 ORDER BY g.slot
"""


@dataclass(frozen=True, slots=True)
class OtherReader:
    """As its guard's row has it."""

    slot: str
    system_identifier: int
    timeline: int
    settled_xid: int
    settled_at: datetime
    tables: frozenset[str]
    runs: tuple[tuple[str, str], ...]  # as Evidence has them
    gaps: tuple[str, ...]


def read_others(line: Line, slot: str) -> tuple[OtherReader, ...]:
    return tuple(_other(row or "{}") for (row,) in line.query(_OTHERS, [slot]))


def readers_of(table: str, others: Iterable[OtherReader]) -> list[OtherReader]:
    return [other for other in others if table in other.tables]


def _other(row: str) -> OtherReader:
    found = json.loads(row)
    return OtherReader(
        slot=found["slot"],
        system_identifier=int(found["system"]),
        timeline=found["timeline"],
        settled_xid=int(found["xid"]),
        settled_at=datetime.fromtimestamp(found["at"], UTC),
        tables=frozenset(found["tables"]),
        runs=tuple((run, kind) for run, kind in found["runs"]),
        gaps=tuple(found["gaps"]),
    )
