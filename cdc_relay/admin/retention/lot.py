"""Resolved records of the lot, removed after their time, in small batches.

What the slot may deliver again stays (a crash may take confirmations back); so does what an unfinished replay may come
to a second time. Dead records and those that wait are never touched.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from cdc_relay.protocol.lsn import format_lsn
from cdc_relay.sources.line import Line

__all__ = ["LotCut", "count_resolved", "may_remove_resolved", "remove_resolved"]

_BATCH_ROWS = 1000
# $1 slot, $2 the time before which they go, $3 the slot's restart_lsn, $4 unfinished runs, $5 after this id.
# The last edit is compared by its date, a day generously: what somebody wrote there by hand must break nothing.
_RESOLVED = """
SELECT id FROM cdc_relay.parked_records
 WHERE slot = $1 AND id > $5::bigint AND status IN ('published', 'discarded', 'cancelled') AND claimed_at IS NULL
   AND greatest(parked_at, published_at, last_error_at) < $2::timestamptz
   AND coalesce(edits -> -1 ->> 'at', '') < to_char($2::timestamptz - interval '1 day', 'YYYY-MM-DD')
   AND commit_lsn < $3::pg_lsn AND (run IS NULL OR NOT $4::jsonb ? run)
"""
_REMOVE = f"""
WITH old AS MATERIALIZED ({_RESOLVED} ORDER BY id LIMIT {_BATCH_ROWS}), gone AS (
  DELETE FROM cdc_relay.parked_records p USING old
   WHERE p.id = old.id AND p.status IN ('published', 'discarded', 'cancelled') RETURNING p.id)
SELECT (SELECT count(*) FROM gone), coalesce((SELECT max(id) FROM old), 0)
"""
_MAY = "SELECT has_table_privilege('cdc_relay.parked_records', 'DELETE')"


@dataclass(frozen=True, slots=True)
class LotCut:
    slot: str
    cutoff: datetime
    restart_lsn: int  # of the slot
    runs: Sequence[str]  # that are not finished


def may_remove_resolved(line: Line) -> bool:
    return line.query(_MAY) == [("t",)]


def remove_resolved(line: Line, cut: LotCut, *, after_id: int) -> tuple[int, int]:
    """How many went, and up to which number was looked; 0 as the number: there are no more."""
    [(count, last_id)] = line.query(_REMOVE, [*_parameters(cut), str(after_id)], timeout_seconds=65)
    return int(count or 0), int(last_id or 0)


def count_resolved(line: Line, cut: LotCut) -> int:
    [(count,)] = line.query(f"SELECT count(*) FROM ({_RESOLVED}) AS old", [*_parameters(cut), "0"], timeout_seconds=65)
    return int(count or 0)


def _parameters(cut: LotCut) -> list[str]:
    return [cut.slot, cut.cutoff.isoformat(), format_lsn(cut.restart_lsn), json.dumps(list(cut.runs))]
