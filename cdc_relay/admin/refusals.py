"""What Postgres' refusals mean to the operator of setup, and what helps. The only place here that knows SQLSTATEs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cdc_relay.errors import AwayError, RefusedError, RelayError, SourceError
from cdc_relay.sources.line import QueryError

__all__ = ["explained"]

_NO_RIGHT, _TIMED_OUT, _READ_ONLY, _LIMIT_REACHED = "42501", "57014", "25006", "53400"
_GOING_AWAY = ("57P", "08")  # classes: the server shuts down or ends the session; connection exceptions
_REPEAT = "setup can be run again: it goes on where it stopped"
_WRITERS = (
    "SELECT pid, usename, datname, xact_start FROM pg_stat_activity WHERE backend_xid IS NOT NULL ORDER BY xact_start"
)
_REMEDIES = {
    _TIMED_OUT: f"Postgres waits for open transactions to end; see {_WRITERS}; and pg_prepared_xacts; {_REPEAT}",
    _READ_ONLY: "this server is a standby or read-only: connect to the primary (target_session_attrs=read-write)",
    _LIMIT_REACHED: "raise max_replication_slots (ALTER SYSTEM SET, then restart) or drop a slot nobody reads",
}


@contextmanager
def explained(step: str, *, needs: str) -> Iterator[None]:
    """Failures of one step as our own errors; `needs` is what the role must be allowed for it."""
    try:
        yield
    except SourceError as exc:
        raise _explain(exc, step, needs) from exc


def _explain(exc: SourceError, step: str, needs: str) -> RelayError:
    if not isinstance(exc, QueryError) or exc.sqlstate.startswith(_GOING_AWAY):
        return AwayError(f"{step}: {exc.message}", remedy=_REPEAT)
    return RefusedError(f"{step}: {exc.message}", remedy=_remedy(exc.sqlstate, needs))


def _remedy(sqlstate: str, needs: str) -> str:
    if sqlstate == _NO_RIGHT:
        return f"{needs}; or give a DBA the script: cdc-relay setup -c FILE --print"
    return _REMEDIES.get(sqlstate, f"see Postgres' own message; {_REPEAT}")
