"""The libraries whose connections are taken, told apart by what they have: none of them is imported here.

The adapter of this package: beyond it nothing is of a type that nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any, NamedTuple, Protocol

from .errors import UnknownConnectionError
from .statements import Spelling

__all__ = ["AsyncConnection", "Connection", "Line", "open_async_line", "open_line"]

_TAKEN = "a connection or cursor of psycopg 3, a Connection or Session of SQLAlchemy 2, or a connection of Django"
_TAKEN_ASYNC = "an AsyncConnection or AsyncCursor of psycopg 3, or an AsyncConnection or AsyncSession of SQLAlchemy 2"
_IDLE, _ACTIVE = 0, 1  # psycopg.pq.TransactionStatus


class _PsycopgConnection(Protocol):
    @property
    def pgconn(self) -> Any: ...
    def close(self) -> None: ...


class _PsycopgCursor(Protocol):
    @property
    def connection(self) -> _PsycopgConnection: ...
    def close(self) -> None: ...


class _SqlalchemyConnection(Protocol):
    @property
    def dialect(self) -> Any: ...
    def exec_driver_sql(self, statement: str, /) -> Any: ...
    def close(self) -> None: ...


class _SqlalchemySession(Protocol):
    def connection(self) -> _SqlalchemyConnection: ...


class _DjangoConnection(Protocol):
    in_atomic_block: Any

    def get_autocommit(self) -> Any: ...
    def cursor(self) -> Any: ...


class _AsyncPsycopgConnection(Protocol):
    @property
    def pgconn(self) -> Any: ...
    async def close(self) -> None: ...


class _AsyncPsycopgCursor(Protocol):
    @property
    def connection(self) -> _AsyncPsycopgConnection: ...
    async def close(self) -> None: ...


class _AsyncSqlalchemyConnection(Protocol):
    @property
    def sync_connection(self) -> Any: ...


class _AsyncSqlalchemySession(Protocol):
    async def connection(self) -> _AsyncSqlalchemyConnection: ...


Connection = (
    _PsycopgConnection | _PsycopgCursor | _SqlalchemyConnection | _SqlalchemySession | _DjangoConnection
)  # of which library it is, is found out at run time
AsyncConnection = _AsyncPsycopgConnection | _AsyncPsycopgCursor | _AsyncSqlalchemyConnection | _AsyncSqlalchemySession


class Line(NamedTuple):
    """A way to Postgres inside of the caller's transaction."""

    spelling: Spelling
    is_in_transaction: bool
    execute: Callable[[str, tuple[object, ...]], Any]  # of an async one the result is awaited


def open_line(given: Any) -> Line:
    conn = _innermost(given)
    if hasattr(conn, "in_atomic_block"):
        return _django(conn)
    if _is_async(conn):
        raise UnknownConnectionError(f"{_name(given)} is asynchronous; await emit_async instead of emit")
    if hasattr(conn, "pgconn"):
        return _psycopg(conn)
    if not hasattr(conn, "exec_driver_sql") and callable(getattr(conn, "connection", None)):  # a Session
        conn = conn.connection()
    if hasattr(conn, "exec_driver_sql"):
        return _sqlalchemy(conn, conn.exec_driver_sql)
    raise UnknownConnectionError(f"{_name(given)} is not taken; expected {_TAKEN}")


async def open_async_line(given: Any) -> Line:
    conn = _innermost(given)
    if _is_async(conn) and hasattr(conn, "pgconn"):
        return _psycopg(conn)
    if _is_async(conn) and not hasattr(conn, "exec_driver_sql") and hasattr(conn, "connection"):  # an AsyncSession
        conn = await conn.connection()
    if _is_async(conn) and hasattr(conn, "exec_driver_sql"):
        return _sqlalchemy(conn.sync_connection, conn.exec_driver_sql)
    raise UnknownConnectionError(f"{_name(given)} is not taken; expected {_TAKEN_ASYNC}; for others call emit")


def _innermost(given: Any) -> Any:
    """The connection of a psycopg cursor: to execute on the cursor itself would cost the caller its results."""
    if hasattr(given, "exec_driver_sql") or hasattr(given, "in_atomic_block"):  # whose own `connection` is not for us
        return given
    inner = getattr(given, "connection", None)
    return inner if hasattr(inner, "pgconn") else given


def _is_async(conn: Any) -> bool:
    return iscoroutinefunction(getattr(conn, "execute", None))


def _psycopg(conn: Any) -> Line:
    is_raw = any(kind.__name__.endswith("RawCursor") for kind in _kinds(conn.cursor_factory))
    return Line(Spelling(numbered=is_raw), not conn.autocommit or _is_begun(conn), conn.execute)


def _is_begun(conn: Any) -> bool:
    """In a pipeline with statements on their way the state is not known; psycopg counts its transaction blocks.

    The count is private to it. Should it be gone, the pipeline is believed.
    """
    status = conn.info.transaction_status
    return status != _IDLE and (status != _ACTIVE or getattr(conn, "_num_transactions", 1) > 0)


def _kinds(factory: Any) -> tuple[type, ...]:
    return factory.__mro__ if isinstance(factory, type) else ()


def _sqlalchemy(conn: Any, execute: Callable[[str, tuple[object, ...]], Any]) -> Line:
    """The driver's autocommit is asked: with it, begin() of SQLAlchemy begins nothing in Postgres."""
    _check_postgres(conn.dialect.name)
    is_numbered = conn.dialect.paramstyle == "numeric_dollar"  # asyncpg, which also takes no text for a time
    is_autocommit = bool(getattr(conn.connection.dbapi_connection, "autocommit", False))
    return Line(Spelling(numbered=is_numbered, native_times=is_numbered), not is_autocommit, execute)


def _django(conn: Any) -> Line:
    _check_postgres(conn.vendor)

    def execute(sql: str, parameters: tuple[object, ...]) -> None:
        with conn.cursor() as cursor:
            cursor.execute(sql, parameters)

    return Line(Spelling(), bool(conn.in_atomic_block) or not conn.get_autocommit(), execute)


def _check_postgres(name: str) -> None:
    if name != "postgresql":
        raise UnknownConnectionError(f"the connection is to {name}; the relay reads Postgres")


def _name(given: object) -> str:
    return f"{type(given).__module__}.{type(given).__qualname__}"
