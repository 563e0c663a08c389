"""What Postgres' refusals mean to retention, and what helps. The only place here that knows SQLSTATEs."""

from __future__ import annotations

from cdc_relay.admin.retention.session import LOCK_LIMIT, STATEMENT_LIMIT_SECONDS
from cdc_relay.errors import RelayError
from cdc_relay.sources.line import QueryError

__all__ = ["explain"]

_NO_RIGHT, _NO_COLUMN, _NO_TABLE = "42501", "42703", ("42P01", "3F000")
_LOCKED, _TIMED_OUT, _IN_DEFAULT, _TAKEN = "55P03", "57014", "23514", "42P07"
_REMEDIES = {
    _LOCKED: f"nothing: somebody had it locked for more than {LOCK_LIMIT}; it is tried again",
    _TIMED_OUT: f"for rows, an index that begins with the time column: without one {STATEMENT_LIMIT_SECONDS} s were not"
    " enough; it is tried again",
    _IN_DEFAULT: "rows of that month are in the DEFAULT partition: move them out of it, and the month is made",
    _TAKEN: "a table that is no partition has the name that the month would get: rename it",
    _NO_RIGHT: "the rights are in docs/privileges.md (retention); cdc-relay check -c FILE names what is missing",
    _NO_COLUMN: "cdc-relay setup -c FILE",
}


def explain(exc: RelayError) -> tuple[str, str]:
    """The trouble and its remedy."""
    if not isinstance(exc, QueryError):
        return exc.message, exc.remedy or "check Postgres; it is tried again"
    if exc.sqlstate in _NO_TABLE:
        return exc.message, "cdc-relay setup -c FILE"
    return exc.message, _REMEDIES.get(exc.sqlstate, "see Postgres' own message; it is tried again")
