"""Whether a backfill of a slot is unfinished: until it is, nobody may read the slot. Only looks."""

from __future__ import annotations

from cdc_relay.errors import RefusedError
from cdc_relay.sources.line import Line, QueryError
from cdc_relay.sources.printed_rows import quote_name
from cdc_relay.sources.schema import grants

__all__ = ["refuse_unfinished_backfill"]

_NO_RIGHT = "42501"
_TABLE = """
SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = 'cdc_relay' AND c.relname = 'replays'
"""
_UNFINISHED = """
SELECT id, to_char(began_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"') FROM cdc_relay.replays
 WHERE slot = $1 AND kind = 'backfill' AND state = 'running' ORDER BY began_at DESC LIMIT 1
"""


def refuse_unfinished_backfill(line: Line, slot: str) -> None:
    """What it has not published is in no slot: to stream past it would lose it."""
    if not line.query(_TABLE):
        return
    try:
        rows = line.query(_UNFINISHED, [slot])
    except QueryError as exc:
        if exc.sqlstate != _NO_RIGHT:
            raise
        role = quote_name(line.place.user)
        raise RefusedError(f"the role may not use schema cdc_relay: {exc.message}", remedy=grants(role)) from exc
    if rows:
        raise RefusedError(
            f"backfill {rows[0][0]} of slot {slot}, begun {rows[0][1]}, is not finished: rows from before the slot are"
            " not published yet",
            remedy="finish it: cdc-relay setup -c FILE --backfill",
        )
