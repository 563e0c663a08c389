"""The libraries of the SDK's users, each as a way to emit events in a transaction that commits or rolls back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import django
import psycopg
import sqlalchemy
from django.conf import settings
from django.db import connection as django_connection
from django.db import connections, transaction
from psycopg.raw_cursor import RawCursor
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from cdc_relay.outbox import Event, Outbox, emit_many, emit_many_async
from tests.fixtures.database import Database

__all__ = [
    "LIBRARIES",
    "OUTSIDE",
    "TABLE",
    "Emit",
    "RollBackError",
    "create_table",
    "django_database",
    "sqlalchemy_url",
]

TABLE = (
    "CREATE TABLE {} (id uuid PRIMARY KEY, aggregatetype text NOT NULL, aggregateid text NOT NULL, type text NOT NULL,"
    " payload jsonb, headers jsonb, correlation_id text, scheduled_at timestamptz,"
    " created_at timestamptz NOT NULL DEFAULT now())"
)
Emit = Callable[[Database, Sequence[Event], Outbox, bool], None]  # the last: the caller's transaction fails afterwards


class RollBackError(Exception):
    """What goes wrong in the caller's transaction after the event was emitted."""


def create_table(database: Database, table: str = "public.outbox") -> None:
    database.execute(TABLE.format(table))


def sqlalchemy_url(database: Database) -> str:
    return f"postgresql+psycopg://postgres@127.0.0.1:{database.server.port}/{database.name}"


@contextmanager
def django_database(database: Database) -> Iterator[None]:
    """Django's default connection, which is one per process and thread, leads to this database."""
    if not settings.configured:
        settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.postgresql"}}, USE_TZ=True)
        django.setup()
    place = {"NAME": database.name, "USER": "postgres", "HOST": "127.0.0.1", "PORT": database.server.port}
    connections["default"].settings_dict.update(place)
    try:
        yield
    finally:
        connections["default"].close()


def _end(fails: bool) -> None:
    if fails:
        raise RollBackError


# --- synchronous


def _psycopg(database: Database, events: Sequence[Event], outbox: Outbox, fails: bool) -> None:
    with psycopg.connect(database.dsn()) as conn:
        emit_many(conn, events, outbox=outbox)
        _end(fails)


def _cursor(database: Database, events: Sequence[Event], outbox: Outbox, fails: bool) -> None:
    with psycopg.connect(database.dsn()) as conn, conn.cursor() as cursor:
        cursor.execute("SELECT 1")
        emit_many(cursor, events, outbox=outbox)
        assert cursor.fetchall() == [(1,)]  # the caller's own results are still there
        _end(fails)


def _with_cursor_factory(factory: Any) -> Emit:
    def emit(database: Database, events: Sequence[Event], outbox: Outbox, fails: bool) -> None:
        with psycopg.connect(database.dsn(), cursor_factory=factory) as conn:
            emit_many(conn, events, outbox=outbox)
            _end(fails)

    return emit


def _autocommit(database: Database, events: Sequence[Event], outbox: Outbox, fails: bool) -> None:
    with psycopg.connect(database.dsn(), autocommit=True) as conn, conn.transaction():
        emit_many(conn, events, outbox=outbox)
        _end(fails)


def _sqlalchemy(database: Database, events: Sequence[Event], outbox: Outbox, fails: bool) -> None:
    with sqlalchemy.create_engine(sqlalchemy_url(database), poolclass=sqlalchemy.NullPool).begin() as conn:
        emit_many(conn, events, outbox=outbox)
        _end(fails)


def _session(database: Database, events: Sequence[Event], outbox: Outbox, fails: bool) -> None:
    engine = sqlalchemy.create_engine(sqlalchemy_url(database), poolclass=sqlalchemy.NullPool)
    with Session(engine) as session, session.begin():
        emit_many(session, events, outbox=outbox)
        _end(fails)


def _django(database: Database, events: Sequence[Event], outbox: Outbox, fails: bool) -> None:
    with django_database(database), transaction.atomic():
        emit_many(django_connection, events, outbox=outbox)
        _end(fails)


# --- asynchronous


def _waiting(work: Callable[[Database, Sequence[Event], Outbox, bool], Awaitable[None]]) -> Emit:
    async def run(*arguments: Any) -> None:
        await work(*arguments)

    return lambda *arguments: asyncio.run(run(*arguments))


async def _async_psycopg(database: Database, events: Sequence[Event], outbox: Outbox, fails: bool) -> None:
    async with await psycopg.AsyncConnection.connect(database.dsn()) as conn:
        await emit_many_async(conn, events, outbox=outbox)
        _end(fails)


async def _async_cursor(database: Database, events: Sequence[Event], outbox: Outbox, fails: bool) -> None:
    async with await psycopg.AsyncConnection.connect(database.dsn()) as conn, conn.cursor() as cursor:
        await emit_many_async(cursor, events, outbox=outbox)
        _end(fails)


def _async_engine(database: Database) -> Any:
    return create_async_engine(sqlalchemy_url(database), poolclass=sqlalchemy.NullPool)


async def _async_sqlalchemy(database: Database, events: Sequence[Event], outbox: Outbox, fails: bool) -> None:
    conn: AsyncConnection
    async with _async_engine(database).begin() as conn:
        await emit_many_async(conn, events, outbox=outbox)
        _end(fails)


async def _async_session(database: Database, events: Sequence[Event], outbox: Outbox, fails: bool) -> None:
    async with AsyncSession(_async_engine(database)) as session, session.begin():
        await emit_many_async(session, events, outbox=outbox)
        _end(fails)


LIBRARIES: dict[str, Emit] = {
    "psycopg": _psycopg,
    "psycopg cursor": _cursor,
    "psycopg raw cursor": _with_cursor_factory(RawCursor),
    "psycopg client cursor": _with_cursor_factory(psycopg.ClientCursor),
    "psycopg autocommit": _autocommit,
    "psycopg async": _waiting(_async_psycopg),
    "psycopg async cursor": _waiting(_async_cursor),
    "sqlalchemy connection": _sqlalchemy,
    "sqlalchemy session": _session,
    "sqlalchemy async connection": _waiting(_async_sqlalchemy),
    "sqlalchemy async session": _waiting(_async_session),
    "django": _django,
}


# --- outside of any transaction


def _psycopg_outside(database: Database, events: Sequence[Event], outbox: Outbox, fails: bool) -> None:
    with psycopg.connect(database.dsn(), autocommit=True) as conn:
        emit_many(conn, events, outbox=outbox)


async def _async_psycopg_outside(database: Database, events: Sequence[Event], outbox: Outbox, fails: bool) -> None:
    async with await psycopg.AsyncConnection.connect(database.dsn(), autocommit=True) as conn:
        await emit_many_async(conn, events, outbox=outbox)


def _sqlalchemy_outside(database: Database, events: Sequence[Event], outbox: Outbox, fails: bool) -> None:
    engine = sqlalchemy.create_engine(sqlalchemy_url(database), poolclass=sqlalchemy.NullPool)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn, conn.begin():
        emit_many(conn, events, outbox=outbox)


async def _async_sqlalchemy_outside(database: Database, events: Sequence[Event], outbox: Outbox, fails: bool) -> None:
    async with _async_engine(database).execution_options(isolation_level="AUTOCOMMIT").begin() as conn:
        await emit_many_async(conn, events, outbox=outbox)


def _django_outside(database: Database, events: Sequence[Event], outbox: Outbox, fails: bool) -> None:
    with django_database(database):
        emit_many(django_connection, events, outbox=outbox)


OUTSIDE: dict[str, Emit] = {
    "psycopg": _psycopg_outside,
    "psycopg async": _waiting(_async_psycopg_outside),
    "sqlalchemy": _sqlalchemy_outside,
    "sqlalchemy async": _waiting(_async_sqlalchemy_outside),
    "django": _django_outside,
}
