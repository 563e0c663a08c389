"""cdc_relay.guard and cdc_relay.gaps, on the catalog connection. Reads and writes; judges nothing (see guard)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from cdc_relay.errors import AwayError, RefusedError, RelayError
from cdc_relay.protocol.lsn import format_lsn, parse_lsn
from cdc_relay.sources.gap import Gap, Mark
from cdc_relay.sources.guard import Guard, Seen, Server
from cdc_relay.sources.knock import Place
from cdc_relay.sources.line import Line, Param, QueryError, Rows
from cdc_relay.sources.schema import NEWEST, grants
from cdc_relay.sources.sql_blocks import read_blocks

__all__ = ["GuardTable", "explain_guard", "require_guard_table"]

_NO_TABLE, _NO_RIGHT = ("42P01", "3F000"), "42501"


class GuardTable:
    """Of one slot. A line is lent for each call."""

    def __init__(self, slot: str, tables: Sequence[tuple[str, str]]) -> None:
        self._slot = slot
        self._tables = json.dumps(tables)

    def read_server(self, line: Line) -> Server:
        [(system, timeline, lsn, xid, at, rows)] = _query(line, "server", self._tables)
        return Server(int(system or 0), int(timeline or 0), _mark(lsn, xid, at, rows))

    def read(self, line: Line) -> Guard | None:
        """After the slot, or a confirmation in between would look like one beyond the ceiling."""
        rows = _query(line, "read", self._slot)
        if not rows:
            return None
        system, timeline, publication, seen_lsn, seen_at, ceiling, *settled = rows[0]
        return Guard(
            system_identifier=int(system or 0),
            timeline=int(timeline or 0),
            publication=publication or "",
            seen_lsn=parse_lsn(seen_lsn or ""),
            seen_at=_time(seen_at),
            ceiling_lsn=parse_lsn(ceiling or ""),
            settled=_mark(*settled),
        )

    def begin(self, line: Line, seen: Seen, *, ceiling_lsn: int) -> None:
        _query(line, "begin", *self._fresh(seen, ceiling_lsn))

    def begin_anew(self, line: Line, seen: Seen, *, ceiling_lsn: int) -> None:
        """Whatever was there is forgotten: nothing of it is missing, or somebody has accepted that."""
        _query(line, "begin_anew", *self._fresh(seen, ceiling_lsn))

    def accept(self, line: Line, problem: str, gap: Gap, seen: Seen, *, ceiling_lsn: int) -> None:
        """Write down what an operator takes upon himself, and begin anew."""
        lsns = format_lsn(gap.begin.lsn), format_lsn(gap.end.lsn)
        times = str(gap.begin.at.timestamp()), str(gap.end.at.timestamp())
        rows = None if gap.row_estimate is None else str(gap.row_estimate)
        line.query("BEGIN")
        _query(line, "accept", self._slot, problem, *lsns, *times, rows, gap.replay)
        self.begin_anew(line, seen, ceiling_lsn=ceiling_lsn)
        line.query("COMMIT")

    def follow(self, line: Line, seen: Seen, *, confirmed_lsn: int) -> None:
        _query(line, "follow", *self._fresh(seen, confirmed_lsn))

    def raise_to(self, line: Line, ceiling_lsn: int, *, seen_lsn: int, seen_at: float) -> bool:
        """False when the row is not ours any more: gone, or the server is not the one that this session began with."""
        _query(line, "settings")
        seen = format_lsn(seen_lsn), str(seen_at)
        return bool(_query(line, "raise", self._tables, self._slot, format_lsn(ceiling_lsn), *seen))

    def _fresh(self, seen: Seen, lsn: int) -> tuple[Param, ...]:
        return self._tables, self._slot, seen.publication, format_lsn(lsn), format_lsn(seen.lsn)


def require_guard_table(line: Line) -> None:
    """RefusedError with the remedy where the table or a right is missing."""
    try:
        [(newest, has_guard)] = _query(line, "versions")
        if int(newest or 0) > NEWEST or has_guard != "true":
            raise _refuse_version(int(newest or 0))
        missing = [name or "" for (name,) in _query(line, "missing_rights")]
    except QueryError as exc:
        if exc.sqlstate in _NO_TABLE:
            raise _refuse_version(0) from exc
        if exc.sqlstate == _NO_RIGHT:
            raise _refuse_rights(exc.message, line) from exc
        raise
    if missing:
        raise _refuse_rights(f"it lacks {', '.join(missing)}", line)


def explain_guard(exc: RelayError, place: Place | None) -> AwayError:
    """While the stream is healthy nothing is refused for good: until it works again, nothing more is confirmed."""
    if isinstance(exc, QueryError) and exc.sqlstate == _NO_RIGHT and place is not None:
        return AwayError(exc.message, remedy=grants(_quoted(place.user)))
    return AwayError(exc.message, remedy=exc.remedy or "check Postgres; it is tried again")


def _query(line: Line, name: str, *params: Param) -> Rows:
    return line.query(read_blocks("cdc_relay.sources", "guard.sql")[name], params)


def _mark(lsn: str | None, xid: str | None, at: str | None, rows: str | None) -> Mark:
    return Mark(parse_lsn(lsn or ""), int(xid or 0), _time(at), int(rows or 0))


def _time(epoch: str | None) -> datetime:
    return datetime.fromtimestamp(float(epoch or 0), UTC)


def _refuse_version(newest: int) -> RefusedError:
    if newest > NEWEST:
        message = f"schema cdc_relay has version {newest}, this cdc-relay knows {NEWEST}"
        return RefusedError(message, remedy="run the newer cdc-relay that made it")
    return RefusedError(
        "the slot guard is not there: schema cdc_relay in the database of source.dsn has no table for it",
        remedy="make it: cdc-relay setup -c FILE",
    )


def _refuse_rights(missing: str, line: Line) -> RefusedError:
    remedy = grants(_quoted(line.place.user))
    return RefusedError(f"the role may not use the slot guard: {missing}", remedy=remedy)


def _quoted(role: str) -> str:
    return '"' + role.replace('"', '""') + '"'
