"""The connection of a run's journal: opened again when it is lost, and with it the locks that say whose a run is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from cdc_relay.errors import AwayError, RefusedError, RelayError, SourceError
from cdc_relay.sources.line import Line, QueryError, Rows
from cdc_relay.sources.printed_rows import quote_name
from cdc_relay.sources.schema import grants
from cdc_relay.sources.session_settings import NOTICE_A_DEAD_CLIENT, apply

__all__ = ["JournalLine", "holder_condition"]

_NO_RIGHT, _LOCKED, _NO_TABLE = "42501", "55P03", ("42P01", "3F000")
_SETTINGS = {
    "statement_timeout": "14s",
    "lock_timeout": "12s",  # longer than a session outlives its host
    "idle_session_timeout": "0",  # the lock must not go while nothing is to be stored
    "synchronous_commit": "on",
} | NOTICE_A_DEAD_CLIENT
_LOCK = "SELECT pg_advisory_lock(hashtextextended('cdc_relay.replays ' || $1, 0))"  # waits for lock_timeout


def holder_condition(what: str) -> str:
    """On pg_locks l, true for who has the lock on `what`, an SQL expression."""
    return (
        "l.locktype = 'advisory' AND l.granted AND l.objsubid = 1"
        " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        f" AND (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended('cdc_relay.replays ' || {what}, 0)"
    )


class JournalLine:
    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._line: Line | None = None
        self._held: list[str] = []  # what nobody else may work on

    def hold(self, what: str) -> None:
        """RefusedError while another process has it."""
        _take_lock(self._connected(), what)
        self._held.append(what)

    def ask(self, sql: str, params: Sequence[str | None]) -> Rows:
        line = self._connected()
        with _translated(line, on_error=self.close):
            return line.query(sql, params)

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    def _connected(self) -> Line:
        if self._line is None:
            line = Line.open(self._conninfo)
            try:
                with _translated(line):
                    apply(line, _SETTINGS)
                for what in self._held:
                    _take_lock(line, what)
            except BaseException:
                line.close()
                raise
            self._line = line
        return self._line


def _take_lock(line: Line, what: str) -> None:
    try:
        line.query(_LOCK, [what])
    except SourceError as exc:
        if not isinstance(exc, QueryError) or exc.sqlstate != _LOCKED:
            raise _explain(exc, line.place.user) from exc
        raise _refuse(what) from exc


def _refuse(what: str) -> RefusedError:
    literal = "'" + what.replace("'", "''") + "'"
    return RefusedError(
        f"{what} is being worked on by another process",
        remedy="let it finish; or stop that process, and run this again then; if its host is gone, end its session:"
        " SELECT a.pid, a.client_addr, a.backend_start, pg_terminate_backend(a.pid) FROM pg_locks l"
        f" JOIN pg_stat_activity a ON a.pid = l.pid WHERE {holder_condition(literal)}",
    )


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
