"""What Postgres' refusals mean to the operator of setup, and what helps. The only place here that knows SQLSTATEs."""

from __future__ import annotations

from contextlib import AbstractContextManager

from cdc_relay.admin.translation import NO_RIGHT, translated
from cdc_relay.errors import RefusedError, RelayError
from cdc_relay.sources.line import QueryError

__all__ = ["explained"]

_TIMED_OUT, _READ_ONLY, _LIMIT_REACHED = "57014", "25006", "53400"
_REPEAT = "setup can be run again: it goes on where it stopped"
_WRITERS = (
    "SELECT pid, usename, datname, xact_start FROM pg_stat_activity WHERE backend_xid IS NOT NULL ORDER BY xact_start"
)
_REMEDIES = {
    _TIMED_OUT: f"Postgres waits for open transactions to end; see {_WRITERS}; and pg_prepared_xacts; {_REPEAT}",
    _READ_ONLY: "this server is a standby or read-only: connect to the primary (target_session_attrs=read-write)",
    _LIMIT_REACHED: "raise max_replication_slots (ALTER SYSTEM SET, then restart) or drop a slot nobody reads",
}


def explained(step: str, *, needs: str) -> AbstractContextManager[None]:
    """Failures of one step as our own errors; `needs` is what the role must be allowed for it."""
    return translated(step, repeat=_REPEAT, refuse=lambda exc: _refuse(exc, step, needs))


def _refuse(exc: QueryError, step: str, needs: str) -> RelayError:
    return RefusedError(f"{step}: {exc.message}", remedy=_remedy(exc.sqlstate, needs))


def _remedy(sqlstate: str, needs: str) -> str:
    if sqlstate == NO_RIGHT:
        return f"{needs}; or give a DBA the script: cdc-relay setup -c FILE --print"
    return _REMEDIES.get(sqlstate, f"see Postgres' own message; {_REPEAT}")
