"""Exported records taken into the lot of a slot: as dead, or as due now, each under a new number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

import psycopg
from psycopg.types.json import Json, Jsonb

from cdc_relay.errors import ConfigError
from cdc_relay.parking.desk import Desk
from cdc_relay.parking.desk_filter import Params
from cdc_relay.parking.desk_row import ParkedRow

__all__ = ["take_in"]

_NOT_TAKEN = ("id", "is_being_published", "read_at")
_SET = {
    "status": "CASE WHEN %(retry)s THEN 'retrying' ELSE 'dead' END",
    "reason": "'failure'",
    "attempts": "CASE WHEN %(retry)s THEN 0 ELSE %(attempts)s::int END",
    "suspicion": "CASE WHEN %(retry)s THEN 0 ELSE %(suspicion)s::int END",
    "next_retry_at": "CASE WHEN %(retry)s THEN now() END",
    "published_at": "NULL",
    "claimed_at": "NULL",
    "edits": """%(edits)s::jsonb || jsonb_build_object('at', now(), 'by', session_user, 'what', 'import',
        'before', jsonb_build_object('id', %(id)s::bigint, 'slot', %(old_slot)s::text, 'status', %(status)s::text))""",
}
_NAMES = [field.name for field in fields(ParkedRow) if field.name not in _NOT_TAKEN]
_INSERT = f"""INSERT INTO cdc_relay.parked_records ({", ".join(_NAMES)})
    VALUES ({", ".join(_SET.get(name, f"%({name})s") for name in _NAMES)})
    ON CONFLICT DO NOTHING"""


def take_in(desk: Desk, rows: Iterable[tuple[int, Params]], *, retry: bool) -> tuple[int, int]:
    """How many came in, and how many were there already; all, or none if one is wrong. Rows by line number."""
    taken = skipped = 0
    with desk.change():
        for line_number, row in rows:
            changed = _insert(desk, line_number, _params(desk, row) | {"retry": retry})
            taken, skipped = taken + changed, skipped + 1 - changed
    return taken, skipped


def _insert(desk: Desk, line_number: int, params: Params) -> int:
    try:
        return desk.connection.execute(_INSERT, params).rowcount
    except (psycopg.DataError, psycopg.IntegrityError) as exc:
        what = exc.diag.constraint_name or exc.sqlstate or type(exc).__name__
        raise ConfigError(
            f"line {line_number}: Postgres does not take it ({what}); nothing was imported",
            remedy="import lines as cdc-relay dlq export writes them",
        ) from None  # Postgres' own text may quote the row


def _params(desk: Desk, row: Params) -> Params:
    packed = {"headers": Jsonb(row["headers"]), "edits": Jsonb(row["edits"])}
    columns = None if row["columns"] is None else Json(row["columns"])
    return {**row, **packed, "columns": columns, "old_slot": row["slot"], "slot": desk.slot}
