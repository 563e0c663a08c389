"""What psycopg's errors mean to an operator of the lot, and what helps. The only file of the desk with SQLSTATEs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from cdc_relay.errors import AwayError, RefusedError, RelayError

__all__ = ["cannot_connect", "explained"]

_MISSING = ("42P01", "3F000", "42703")  # table, schema, column
_NO_RIGHT, _READ_ONLY = "42501", "25006"
_TOOK_TOO_LONG = ("57014", "55P03", "40P01")  # statement timeout, lock timeout, deadlock
_AGAIN = "nothing was changed; see pg_stat_activity for who holds locks on cdc_relay.parked_records, and try again"


def cannot_connect(exc: psycopg.Error) -> RelayError:
    said = " ".join(str(exc).split())
    return AwayError(
        f"the lot's database does not let us in: {said}",
        remedy="check parking.dsn (by default source.dsn): host, port, database, role and password; and pg_hba.conf",
    )


@contextmanager
def explained(role: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as exc:
        raise _explain(exc, role) from exc


def _explain(exc: psycopg.Error, role: str) -> RelayError:
    state, said = exc.sqlstate or "", exc.diag.message_primary or " ".join(str(exc).split())
    if state in _MISSING:
        return RefusedError(f"the lot is not in this database, or older: {said}", remedy="cdc-relay setup -c FILE")
    if state == _NO_RIGHT:
        return RefusedError(f"the lot is closed to role {role}: {said}", remedy=_grants(role))
    if state in _TOOK_TOO_LONG:
        return AwayError(f"the lot did not answer in time: {said}", remedy=_AGAIN)
    if state == _READ_ONLY:
        return RefusedError(f"the lot cannot be changed here: {said}", remedy="connect to the primary")
    if isinstance(exc, psycopg.OperationalError):
        return AwayError(
            f"the connection to the lot broke: {said}", remedy="see with dlq list what was done; try again"
        )
    return RefusedError(f"the lot refused: {said} ({state})", remedy="see Postgres' own message")


def _grants(role: str) -> str:
    name = sql.Identifier(role).as_string(None)
    return (
        f"GRANT USAGE ON SCHEMA cdc_relay TO {name};"
        f" GRANT SELECT, INSERT, UPDATE ON cdc_relay.parked_records TO {name};"
    )
