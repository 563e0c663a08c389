"""The operator's connection to the lot: blocking, with limits on every wait, errors as our own. Knows no command.

Reading is in desk_queries, changing in desk_changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import LiteralString, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import class_row

from cdc_relay.parking.desk_errors import cannot_connect, explained
from cdc_relay.parking.desk_filter import Params

__all__ = ["Desk"]

_CONNECT_SECONDS = 10
# UTC, so that a time reads the same for every role; a lock that the relay holds is gone within a second.
_SETTINGS = "SET statement_timeout = '60s'; SET lock_timeout = '10s'; SET timezone = 'UTC'; SET datestyle = 'ISO'"
_Row = TypeVar("_Row")


class Desk:
    """For one slot. A context manager: the connection ends with it."""

    def __init__(self, conninfo: str, slot: str) -> None:
        self.slot = slot
        limit = conninfo_to_dict(conninfo).get("connect_timeout", _CONNECT_SECONDS)
        try:
            self.connection = psycopg.connect(conninfo, autocommit=True, connect_timeout=limit)
        except psycopg.Error as exc:
            raise cannot_connect(exc) from exc
        self.role = self.connection.info.user
        with self.explained():
            self.connection.execute(_SETTINGS)

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.connection.close()

    def rows(self, shape: type[_Row], query: str, params: Params) -> list[_Row]:
        """Results in binary: bytea comes as its bytes, not as twice as many hex digits."""
        with self.explained(), self.connection.cursor(row_factory=class_row(shape), binary=True) as cursor:
            return cursor.execute(_literal(query), params).fetchall()

    def stream(self, shape: type[_Row], query: str, params: Params) -> Iterator[_Row]:
        """One row at a time: each may be as large as a record can be."""
        cursor = self.connection.cursor("desk", row_factory=class_row(shape))
        cursor.itersize = 1
        with self.explained(), self.connection.transaction(), cursor:
            yield from cursor.execute(_literal(query), params, binary=True)

    def execute(self, query: str, params: Params) -> int:
        """How many rows it changed."""
        with self.explained():
            return self.connection.execute(_literal(query), params).rowcount

    @contextmanager
    def change(self) -> Iterator[None]:
        """All or nothing; the running relay hears of it when it is committed."""
        with self.explained(), self.connection.transaction():
            yield
            self.connection.execute("SELECT pg_notify('cdc_relay_lot', %s)", [self.slot])

    @contextmanager
    def explained(self) -> Iterator[None]:
        with explained(self.role):
            yield


def _literal(query: str) -> LiteralString:
    """Queries are put together from this package's own texts; every value is a parameter."""
    return query
