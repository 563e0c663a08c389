"""The lot's own connection: opened when it is needed, listening, closed when it broke. Errors come out as AwayErrors.

Owns transactions and time limits; knows nothing of the tables but their version and rights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cdc_relay.errors import AwayError, RefusedError, SourceError
from cdc_relay.parking.queries import find
from cdc_relay.parking.troubles import explain, explain_open, refuse_rights, refuse_version
from cdc_relay.sources.line import Line, Param, QueryError, RawRows
from cdc_relay.sources.schema import NEWEST

__all__ = ["LotLine"]

_CHANNEL = "cdc_relay_lot"
_ANSWER_SECONDS = 35.0  # the server's own limit of 30 s speaks first
_BYTES_PER_SECOND = 1 << 20  # a large value takes its time on a slow network
_GOING_AWAY = ("57P", "08")  # classes: the server shuts down or ends the session; connection exceptions
_LARGE_BYTES = 16 << 20  # above this libpq's buffers stay grown until the line closes


class LotLine:
    def __init__(self, conninfo: str, *, setting: str) -> None:
        self._conninfo = conninfo
        self._setting = setting
        self._line: Line | None = None
        self._role = ""
        self._is_swollen = False
        self.heard: list[str] = []  # payloads that were notified; "" also stands for what may have been missed

    @property
    def is_utf8(self) -> bool:
        """Of the database: another encoding cannot hold every text."""
        return self._line is None or self._line.pgconn.parameter_status(b"server_encoding") == b"UTF8"

    def open(self) -> None:
        """On a new connection; RefusedError where an operator has to act."""
        self.close()
        line = self._connect()
        try:
            _inspect(line)
        except BaseException:
            line.close()
            raise
        self._line = line

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    def fileno(self) -> int:
        return -1 if self._line is None else self._line.fileno()

    def look(self) -> None:
        if self._line is None:
            return
        is_broken = self._line.is_broken()
        self._listen(self._line)
        if is_broken:
            self.close()

    def query(self, name: str, *params: Param) -> RawRows:
        return self.run(find(name), params)

    def run(self, sql: str, params: Sequence[Param] = (), *, is_prepared: bool = False) -> RawRows:
        """A statement by itself is a transaction, unless it stands in `transaction`."""
        with self._translated() as line:
            sent = sum(len(param) for param in params if param is not None)
            timeout_seconds = _ANSWER_SECONDS + sent / _BYTES_PER_SECOND
            rows = line.query_raw(sql, params, timeout_seconds=timeout_seconds, is_prepared=is_prepared)
            self._listen(line)
            received = sum(len(value) for row in rows for value in row if value is not None)
            self._is_swollen |= max(sent, received) > _LARGE_BYTES
            return rows

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.run("BEGIN")
        try:
            yield
            self.run("COMMIT")
        except BaseException:
            self.close()  # which rolls back, whatever state the line is in
            raise

    def shrink(self) -> None:
        """Between two calls: a connection that carried something large gives its memory back by closing."""
        if self._is_swollen:
            self.close()

    @contextmanager
    def _translated(self) -> Iterator[Line]:
        line = self._line or self._reconnect()
        try:
            yield line
        except SourceError as exc:
            if not isinstance(exc, QueryError) or exc.sqlstate.startswith(_GOING_AWAY):
                self.close()
            raise explain(exc, role=self._role) from exc

    def _reconnect(self) -> Line:
        """What was in order when it was opened and is refused now may be in order again: it is only away."""
        try:
            self._line = self._connect()
        except RefusedError as exc:
            raise AwayError(exc.message, remedy=exc.remedy) from exc
        return self._line

    def _connect(self) -> Line:
        line = Line.open(self._conninfo, setting=self._setting)
        self._is_swollen, self._role = False, line.place.user
        try:
            line.query(find("settings"))
            line.query(f"LISTEN {_CHANNEL}")
        except SourceError as exc:
            line.close()
            raise explain(exc, role=self._role) from exc
        self.heard.append("")  # nobody listened until now
        return line

    def _listen(self, line: Line) -> None:
        self.heard += line.take_notifications()


def _inspect(line: Line) -> None:
    role = line.place.user
    try:
        [(newest, has_lot, is_read_only)] = line.query(find("versions"))
        if int(newest or 0) > NEWEST or has_lot != "true":
            raise refuse_version(int(newest or 0))
        missing = [name or "" for (name,) in line.query(find("missing_rights"))]
    except QueryError as exc:
        raise explain_open(exc, role=role) from exc
    except SourceError as exc:
        raise explain(exc, role=role) from exc
    if missing:
        raise refuse_rights(f"it lacks {', '.join(missing)}", role=role)
    if is_read_only == "on":
        raise explain(QueryError("the server is read-only", "25006"), role=role)
