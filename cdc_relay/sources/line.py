"""A Postgres connection on psycopg.pq in which every wait has a limit, and every failure one of our own errors.

psycopg makes the connection; its high-level interface has no replication mode and no client-side time limit, so what
follows speaks to psycopg.pq.
A Line belongs to one thread at a time.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psycopg
from psycopg import Error as PsycopgError
from psycopg import pq

from cdc_relay.errors import AwayError, RefusedError, SourceError
from cdc_relay.sources.failed_connection import (
    away_remedy,
    clean,
    connect_remedy,
    describe_failure,
    is_mistake,
    is_refusal,
    place_of,
    primary_remedy,
)
from cdc_relay.sources.knock import Place

__all__ = ["Line", "Param", "QueryError", "RawRows", "Rows"]

Param = str | bytes | None  # bytes go as they are, without hex digits
Rows = list[tuple[str | None, ...]]
RawRows = list[tuple[bytes | None, ...]]

_CONNECT_SECONDS = "10"
_FINISHED = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COPY_BOTH)


class QueryError(SourceError):
    """Postgres answered with an error; `sqlstate` says which, in any language."""

    def __init__(self, message: str, sqlstate: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


class Line:
    """Open with `Line.open`; `query` for SQL; the slot stream takes over `pgconn` after `start_copy`."""

    def __init__(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        self._connection = connection  # made by psycopg, which waits without keeping the other threads from running
        self.pgconn = connection.pgconn
        self.pgconn.nonblocking = 1
        self._prepared: dict[str, bytes] = {}  # statements that Postgres keeps, and their names

    @classmethod
    def open(cls, conninfo: str, *, setting: str = "source.dsn") -> Line:
        """Blocks for connect_timeout per host at most. AwayError: try again; RefusedError: Postgres said no.

        A refusal must be said twice: "starting up" is not for good. `setting` is where an operator would correct it.
        """
        # A DSN's own limit wins; one in a service file is not seen by psycopg, which does the waiting.
        os.environ.setdefault("PGCONNECT_TIMEOUT", _CONNECT_SECONDS)
        for _ in range(2):
            try:
                return cls(psycopg.Connection.connect(conninfo, autocommit=True))
            except psycopg.Error as exc:
                message = describe_failure(exc)
                if isinstance(exc, psycopg.ProgrammingError) or is_mistake(message):
                    raise RefusedError(f"{setting}: {message}", remedy="correct it: no waiting will help") from None
                if not is_refusal(exc):
                    remedy = away_remedy(message, setting)
                    raise AwayError(f"Postgres is not reachable: {message}", remedy=remedy) from None
        remedy = connect_remedy(message, setting, has_certificate="sslcert=" in conninfo)
        raise RefusedError(f"Postgres refused the connection: {message}", remedy=remedy)

    def require_primary(self, setting: str = "source.dsn") -> None:
        """A standby is only away: the primary may come back, or this one may be promoted."""
        if self.is_standby:
            place = self.place
            message = f"{place.host} port {place.port} is a standby, and only a primary can be read"
            raise AwayError(message, remedy=primary_remedy(setting))

    @property
    def place(self) -> Place:
        return place_of(self.pgconn)

    @property
    def server_encoding(self) -> str:
        return (self.pgconn.parameter_status(b"server_encoding") or b"").decode()

    @property
    def is_standby(self) -> bool:
        """Whether the server was in recovery when it last said so; it says it with the connection."""
        return self.pgconn.parameter_status(b"in_hot_standby") == b"on"

    @property
    def backend_pid(self) -> int:
        return self.pgconn.backend_pid

    def fileno(self) -> int:
        """-1 when there is no socket any more."""
        return self.pgconn.socket if self.pgconn.status == pq.ConnStatus.OK else -1

    def query(self, sql: str, params: Sequence[Param] = (), *, timeout_seconds: float = 15.0) -> Rows:
        result = self._run(sql, params, timeout_seconds)
        return [
            tuple(_text(result.get_value(row, column)) for column in range(result.nfields))
            for row in range(result.ntuples)
        ]

    def query_raw(
        self, sql: str, params: Sequence[Param] = (), *, timeout_seconds: float = 15.0, is_prepared: bool = False
    ) -> RawRows:
        """Values in Postgres' binary form: bytea and text as their bytes; cast everything else to text.

        `is_prepared`: the statement comes again, and Postgres keeps it until the connection ends.
        """
        name = self._prepare(sql, timeout_seconds) if is_prepared else b""
        result = self._run(sql, params, timeout_seconds, result_format=pq.Format.BINARY, name=name)
        columns = range(result.nfields)
        return [tuple(result.get_value(row, column) for column in columns) for row in range(result.ntuples)]

    def query_printed(self, sql: str, params: Sequence[Param] = (), *, timeout_seconds: float = 15.0) -> RawRows:
        """One statement and no more; values as Postgres prints them, in the bytes of client_encoding."""
        result = self._run(sql, params, timeout_seconds, is_single=True)
        columns = range(result.nfields)
        return [tuple(result.get_value(row, column) for column in columns) for row in range(result.ntuples)]

    def take_notifications(self) -> list[str]:
        """The payloads of what was notified and has been read from the socket, by a query or by `is_broken`."""
        payloads = []
        while (notification := self.pgconn.notifies()) is not None:
            payloads.append(notification.extra.decode("utf-8", "replace"))
        return payloads

    def start_copy(self, sql: str, *, timeout_seconds: float = 15.0) -> None:
        """START_REPLICATION: afterwards the connection speaks copy data in both directions."""
        result = self._run(sql, (), timeout_seconds)
        if result.status != pq.ExecStatus.COPY_BOTH:
            raise SourceError(f"Postgres did not start the stream (status {result.status})")

    def is_broken(self) -> bool:
        """Look at what arrived unasked: a server that goes away says so and closes."""
        try:
            self.pgconn.consume_input()
        except PsycopgError:
            return True
        return self.pgconn.status != pq.ConnStatus.OK

    def close(self) -> None:
        self._connection.close()

    def _run(
        self,
        sql: str,
        params: Sequence[Param],
        timeout_seconds: float,
        result_format: pq.Format = pq.Format.TEXT,
        *,
        is_single: bool = False,
        name: bytes = b"",
    ) -> pq.abc.PGresult:
        with self._translated():
            deadline = time.monotonic() + timeout_seconds
            if not params and result_format == pq.Format.TEXT and not is_single:
                self.pgconn.send_query(sql.encode())  # the walsender knows the simple protocol only
            else:
                self._send(sql, params, result_format, name=name)
            return self._receive(deadline)

    def _send(self, sql: str, params: Sequence[Param], result_format: pq.Format, *, name: bytes) -> None:
        values = [param.encode() if isinstance(param, str) else param for param in params]
        formats = [pq.Format.BINARY if isinstance(param, bytes) else pq.Format.TEXT for param in params]
        if name:
            self.pgconn.send_query_prepared(name, values, param_formats=formats, result_format=result_format)
        else:
            self.pgconn.send_query_params(sql.encode(), values, param_formats=formats, result_format=result_format)

    def _prepare(self, sql: str, timeout_seconds: float) -> bytes:
        name = self._prepared.get(sql)
        if name is None:
            name = b"cdc_relay_%d" % len(self._prepared)
            with self._translated():
                self.pgconn.send_prepare(name, sql.encode())
                self._receive(time.monotonic() + timeout_seconds)
            self._prepared[sql] = name
        return name

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except PsycopgError as exc:
            raise SourceError(f"the connection to Postgres broke: {clean(str(exc))}") from exc

    def _receive(self, deadline: float) -> pq.abc.PGresult:
        results = []
        while (result := self._next_result(deadline)) is not None:
            results.append(result)
            if result.status == pq.ExecStatus.COPY_BOTH:
                break
        for result in results:  # after the last one is read, or the next query would find the rest
            if result.status not in _FINISHED:
                raise self._query_error(result)
        if not results:
            raise SourceError("Postgres gave no result")
        return results[-1]

    def _next_result(self, deadline: float) -> pq.abc.PGresult | None:
        pgconn = self.pgconn
        while (is_unsent := pgconn.flush()) or pgconn.is_busy():
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise SourceError("Postgres did not answer in time")
            writers = [pgconn.socket] if is_unsent else []
            select.select([pgconn.socket], writers, [], min(remaining, 0.25))
            pgconn.consume_input()
        return pgconn.get_result()

    def _query_error(self, result: pq.abc.PGresult) -> QueryError:
        state = result.error_field(pq.DiagnosticField.SQLSTATE) or b""
        primary = result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY)
        text = primary.decode("utf-8", "replace") if primary else clean(result.get_error_message())
        return QueryError(text, state.decode())


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")
