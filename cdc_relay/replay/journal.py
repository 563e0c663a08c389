"""cdc_relay.replays: what each run was asked for, how far it is, and what came of it. Calls block within limits.

A run belongs to one process at a time: a lock says so. A process that lost it and comes back late writes nothing over
what another one did meanwhile: each write names the attempt that it belongs to.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cdc_relay.errors import RefusedError
from cdc_relay.protocol.lsn import format_lsn, parse_lsn
from cdc_relay.replay.journal_line import JournalLine, holder_condition
from cdc_relay.replay.position import Position
from cdc_relay.replay.selection import Selection
from cdc_relay.sources.line import Rows

__all__ = ["Counts", "Journal", "Kept", "new_run_id"]

_FIELDS = (
    "id, attempt, selection::text, position::text, read_count, published_count, parked_count, dropped_count,"
    " slot_lsn::text, began_at::text"
)
_HOLDER = holder_condition("'run ' || id")
_IS_BUSY = f"EXISTS (SELECT FROM pg_locks l WHERE {_HOLDER})"
_OWN_ATTEMPT = "WHERE id = $1 AND attempt = $2::int"


@dataclass(frozen=True, slots=True)
class Counts:
    read: int = 0
    published: int = 0
    parked: int = 0
    dropped: int = 0

    def plus(self, other: Counts) -> Counts:
        return Counts(
            self.read + other.read,
            self.published + other.published,
            self.parked + other.parked,
            self.dropped + other.dropped,
        )


@dataclass(frozen=True, slots=True)
class Kept:
    """A run as the table has it."""

    id: str
    attempt: int
    selection: dict[str, Any]
    position: Position
    counts: Counts
    slot_lsn: int  # 0: no slot was made
    began_at: str
    is_busy: bool = False  # another process works on it


class Journal:
    def __init__(self, conninfo: str, *, slot: str) -> None:
        self._line = JournalLine(conninfo)
        self._slot = slot

    def find_unfinished(self, kind: str) -> Kept | None:
        """The newest that nobody works on; where there is none, the newest."""
        rows = self._ask(
            f"SELECT {_FIELDS}, {_IS_BUSY} AS is_busy FROM cdc_relay.replays"
            " WHERE slot = $1 AND kind = $2 AND state = 'running' ORDER BY is_busy, began_at DESC, id DESC LIMIT 1",
            self._slot,
            kind,
        )
        return _kept(rows[0]) if rows else None

    def hold(self, what: str) -> None:
        """One process at a time. RefusedError while another one has it."""
        self._line.hold(what)

    def begin(self, kind: str, selection: Selection, **more: str | None) -> Kept:
        """`more` is kept with the selection."""
        run = new_run_id(kind)
        self.hold(f"run {run}")
        rows = self._ask(
            "INSERT INTO cdc_relay.replays (id, slot, kind, selection) VALUES ($1, $2, $3, $4::jsonb)"
            f" RETURNING {_FIELDS}",
            run,
            self._slot,
            kind,
            json.dumps(selection.as_json() | more),
        )
        return _kept(rows[0])

    def resume(self, run: str) -> Kept:
        """One more attempt at it. RefusedError while another process works on it."""
        self.hold(f"run {run}")
        rows = self._ask(
            "UPDATE cdc_relay.replays SET attempt = attempt + 1, stored_at = now() WHERE id = $1 AND state = 'running'"
            f" RETURNING {_FIELDS}",
            run,
        )
        if not rows:
            raise RefusedError(f"run {run} is finished", remedy="nothing has to be done")
        return _kept(rows[0])

    def store(self, kept: Kept, position: Position, counts: Counts) -> None:
        self._update(kept, "position = $7::jsonb", counts, json.dumps(position.as_json()))

    def finish(self, kept: Kept, counts: Counts) -> None:
        """Once more, where the answer to the first time was lost, is no harm."""
        self._update(kept, "position = NULL, state = 'finished', ended_at = now()", counts, before="running,finished")

    def abandon(self, kept: Kept) -> None:
        self._ask(
            "UPDATE cdc_relay.replays SET state = 'abandoned', ended_at = now(), stored_at = now()"
            f" {_OWN_ATTEMPT} AND state = 'running'",
            kept.id,
            str(kept.attempt),
        )

    def note_slot(self, kept: Kept, lsn: int | None) -> None:
        """Where the slot begins that this backfill made; None: it has none."""
        rows = self._ask(
            f"UPDATE cdc_relay.replays SET slot_lsn = $3::pg_lsn, stored_at = now() {_OWN_ATTEMPT}"
            " AND state = 'running' RETURNING 1",
            kept.id,
            str(kept.attempt),
            None if lsn is None else format_lsn(lsn),
        )
        _require_own(rows, kept)

    def close(self) -> None:
        self._line.close()

    # -- inside

    def _update(self, kept: Kept, change: str, counts: Counts, *more: str, before: str = "running") -> None:
        figures = (str(each) for each in (counts.read, counts.published, counts.parked, counts.dropped))
        rows = self._ask(
            f"UPDATE cdc_relay.replays SET {change}, read_count = $3::bigint, published_count = $4::bigint,"
            f" parked_count = $5::bigint, dropped_count = $6::bigint, stored_at = now() {_OWN_ATTEMPT}"
            f" AND state = ANY ('{{{before}}}') RETURNING 1",
            kept.id,
            str(kept.attempt),
            *figures,
            *more,
        )
        _require_own(rows, kept)

    def _ask(self, sql: str, *params: str | None) -> Rows:
        return self._line.ask(sql, params)


def new_run_id(kind: str) -> str:
    return f"{kind}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def _require_own(rows: Rows, kept: Kept) -> None:
    if not rows:
        raise RefusedError(
            f"run {kept.id} was taken over or ended by somebody else, while this process had lost its connection",
            remedy="nothing is lost; see SELECT id, state, attempt, stored_at FROM cdc_relay.replays"
            f" WHERE id = '{kept.id}', and let that process finish, or go on with it where its state is running",
        )


def _kept(row: tuple[str | None, ...]) -> Kept:
    run, attempt, selection, position, read, published, parked, dropped, lsn, began_at, *is_busy = row
    return Kept(
        id=run or "",
        attempt=int(attempt or 1),
        selection=json.loads(selection or "{}"),
        position=Position.from_json(json.loads(position) if position else None),
        counts=Counts(*(int(each or 0) for each in (read, published, parked, dropped))),
        slot_lsn=parse_lsn(lsn) if lsn else 0,
        began_at=began_at or "",
        is_busy=is_busy == ["t"],
    )
