"""cdc_relay.replays: what each run was asked for, how far it is, and what came of it. Calls block within limits.

A run belongs to one process at a time: a lock of this connection says so, and goes with it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cdc_relay.errors import AwayError, RefusedError, RelayError, SourceError
from cdc_relay.protocol.lsn import format_lsn, parse_lsn
from cdc_relay.replay.position import Position
from cdc_relay.replay.selection import Selection
from cdc_relay.sources.line import Line, QueryError, Rows
from cdc_relay.sources.printed_rows import quote_name
from cdc_relay.sources.schema import grants

__all__ = ["Counts", "Journal", "Kept", "new_run_id"]

_NO_RIGHT, _LOCKED, _NO_TABLE = "42501", "55P03", ("42P01", "3F000")
_FIELDS = (
    "id, attempt, selection::text, position::text, read_count, published_count, parked_count, dropped_count,"
    " slot_lsn::text, began_at::text"
)
_SETTINGS = {
    "statement_timeout": "10s",
    "lock_timeout": "5s",
    "idle_session_timeout": "0",  # the lock must not go while nothing is to be stored
    "synchronous_commit": "on",
}
_LOCK = "SELECT pg_advisory_lock(hashtextextended('cdc_relay.replays ' || $1, 0))"  # waits for lock_timeout


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


class Journal:
    def __init__(self, conninfo: str, *, slot: str) -> None:
        self._conninfo = conninfo
        self._slot = slot
        self._line: Line | None = None
        self._held: list[str] = []  # what nobody else may work on

    def find_unfinished(self, kind: str) -> Kept | None:
        """The newest."""
        rows = self._ask(
            f"SELECT {_FIELDS} FROM cdc_relay.replays WHERE slot = $1 AND kind = $2 AND state = 'running'"
            " ORDER BY began_at DESC, id DESC LIMIT 1",
            self._slot,
            kind,
        )
        return _kept(rows[0]) if rows else None

    def hold(self, what: str) -> None:
        """One process at a time. RefusedError while another one has it."""
        self._take_lock(self._connected(), what)
        self._held.append(what)

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

    def store(self, run: str, position: Position, counts: Counts) -> None:
        self._update(run, "position = $6::jsonb", counts, json.dumps(position.as_json()))

    def finish(self, run: str, counts: Counts) -> None:
        self._update(run, "position = NULL, state = 'finished', ended_at = now()", counts)

    def abandon(self, run: str) -> None:
        self._ask(
            "UPDATE cdc_relay.replays SET state = 'abandoned', ended_at = now(), stored_at = now() WHERE id = $1", run
        )

    def note_slot(self, run: str, lsn: int | None) -> None:
        """Where the slot begins that this backfill made; None: it has none."""
        printed = None if lsn is None else format_lsn(lsn)
        self._ask("UPDATE cdc_relay.replays SET slot_lsn = $2::pg_lsn, stored_at = now() WHERE id = $1", run, printed)

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    # -- inside

    def _update(self, run: str, change: str, counts: Counts, *more: str) -> None:
        figures = (str(each) for each in (counts.read, counts.published, counts.parked, counts.dropped))
        self._ask(
            f"UPDATE cdc_relay.replays SET {change}, read_count = $2::bigint, published_count = $3::bigint,"
            " parked_count = $4::bigint, dropped_count = $5::bigint, stored_at = now() WHERE id = $1",
            run,
            *figures,
            *more,
        )

    def _take_lock(self, line: Line, what: str) -> None:
        try:
            line.query(_LOCK, [what])
        except SourceError as exc:
            if not isinstance(exc, QueryError) or exc.sqlstate != _LOCKED:
                raise _explain(exc, line.place.user) from exc
            raise RefusedError(
                f"{what} is being worked on by another process",
                remedy="let it finish; or stop that process, and run this again then",
            ) from exc

    def _ask(self, sql: str, *params: str | None) -> Rows:
        line = self._connected()
        with _translated(line, on_error=self.close):
            return line.query(sql, params)

    def _connected(self) -> Line:
        if self._line is None:
            line = Line.open(self._conninfo)
            try:
                with _translated(line):
                    line.query("".join(f"SET {name} = '{value}';" for name, value in _SETTINGS.items()))
                for what in self._held:
                    self._take_lock(line, what)
            except BaseException:
                line.close()
                raise
            self._line = line
        return self._line


def new_run_id(kind: str) -> str:
    return f"{kind}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


@contextmanager
def _translated(line: Line, *, on_error: Callable[[], None] | None = None) -> Iterator[None]:
    user = line.place.user
    try:
        yield
    except SourceError as exc:
        if on_error is not None:
            on_error()
        raise _explain(exc, user) from exc


def _explain(exc: SourceError, user: str) -> RelayError:
    what = "cdc_relay.replays, which keeps how far a run is"
    if not isinstance(exc, QueryError):
        return AwayError(f"{what}: {exc.message}", remedy="check Postgres; it is tried again")
    if exc.sqlstate in _NO_TABLE:
        return RefusedError(f"{what}, is not there", remedy="make it: cdc-relay setup -c FILE")
    if exc.sqlstate == _NO_RIGHT:
        return RefusedError(f"{what}: {exc.message}", remedy=grants(quote_name(user)))
    return AwayError(f"{what}: {exc.message}", remedy="see Postgres' own message; it is tried again")


def _kept(row: tuple[str | None, ...]) -> Kept:
    run, attempt, selection, position, read, published, parked, dropped, lsn, began_at = row
    return Kept(
        id=run or "",
        attempt=int(attempt or 1),
        selection=json.loads(selection or "{}"),
        position=Position.from_json(json.loads(position) if position else None),
        counts=Counts(*(int(each or 0) for each in (read, published, parked, dropped))),
        slot_lsn=parse_lsn(lsn) if lsn else 0,
        began_at=began_at or "",
    )
