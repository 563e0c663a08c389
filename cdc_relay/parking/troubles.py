"""What Postgres' refusals mean to the lot, and what helps. The only place here that knows SQLSTATEs."""

from __future__ import annotations

from cdc_relay.errors import AwayError, RefusedError, RelayError, SourceError
from cdc_relay.sources.line import QueryError
from cdc_relay.sources.schema import AT_LOT, NEWEST, grants

__all__ = ["IS_LOCKED", "explain", "explain_open", "full", "refuse_rights", "refuse_version"]

IS_LOCKED = "55P03"
_NO_RIGHT, _DISK_FULL, _READ_ONLY, _TIMED_OUT = "42501", "53100", "25006", "57014"
_NO_TABLE = ("42P01", "3F000", "42703")
_VALUES = ("22", "23")  # classes whose messages quote what is in a row
_SETUP = "cdc-relay setup -c FILE"
_LOCKS = "SELECT pid, usename, state, query FROM pg_stat_activity WHERE query ~ 'parked_records'"
_REMEDIES = {
    _DISK_FULL: "free space on the database server's disk: the relay goes on by itself",
    _READ_ONLY: "this server is a standby or read-only: let parking.dsn lead to the primary",
    _TIMED_OUT: f"the server is slow, or somebody holds locks on the table: {_LOCKS}",
    IS_LOCKED: f"somebody holds locks on the table, end that transaction: {_LOCKS}",
    **dict.fromkeys(_NO_TABLE, f"make the tables: {_SETUP}"),
}


def explain(exc: SourceError, *, role: str) -> RelayError:
    """Nothing that happens to an opened lot is for good: the relay holds, says so and tries again."""
    if not isinstance(exc, QueryError):
        return AwayError(f"the lot cannot be reached: {exc.message}", remedy="check Postgres; it is tried again")
    message = f"a value was refused (SQLSTATE {exc.sqlstate})" if exc.sqlstate.startswith(_VALUES) else exc.message
    return AwayError(f"the lot cannot be used: {message}", remedy=_remedy(exc.sqlstate, role))


def refuse_version(version: int) -> RefusedError:
    if version > NEWEST:
        message = f"schema cdc_relay has version {version}, this cdc-relay knows {NEWEST}"
        return RefusedError(message, remedy="run the newer cdc-relay that made it")
    found = f"only version {version}" if version else "no tables"
    return RefusedError(
        f"the lot is not there: schema cdc_relay has {found}, version {max(AT_LOT)} is needed",
        remedy=f"make it: {_SETUP}",
    )


def refuse_rights(missing: str, *, role: str) -> RefusedError:
    return RefusedError(f"the role may not use the lot: {missing}", remedy=_grants(role))


def explain_open(exc: QueryError, *, role: str) -> RelayError:
    """While opening: what an operator has to repair is refused."""
    if exc.sqlstate in _NO_TABLE:
        return refuse_version(0)
    if exc.sqlstate == _NO_RIGHT:
        return refuse_rights(exc.message, role=role)
    return explain(exc, role=role)


def full(*, records: str, size: str) -> AwayError:
    return AwayError(
        f"the lot is full: {records}, {size}",
        remedy="publish or give up what is in it (cdc-relay dlq list / retry / discard), or raise parking.limit",
    )


def _grants(role: str) -> str:
    return grants('"' + role.replace('"', '""') + '"')


def _remedy(sqlstate: str, role: str) -> str:
    if sqlstate == _NO_RIGHT:
        return _grants(role)
    return _REMEDIES.get(sqlstate, "see Postgres' own message; it is tried again")
