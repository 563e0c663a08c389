"""Connections that read tables for a run: one with short transactions, and one that holds a snapshot to its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cdc_relay.errors import RefusedError
from cdc_relay.sources.line import Line, QueryError
from cdc_relay.sources.printed_rows import pin_settings
from cdc_relay.sources.session_settings import NOTICE_A_DEAD_CLIENT, apply

__all__ = ["ShortTransactions", "Snapshot"]

_LIMITS = {"statement_timeout": "60s", "lock_timeout": "10s", "idle_in_transaction_session_timeout": "60s"}
_NO_LIMITS = {"statement_timeout": "0", "lock_timeout": "0", "idle_in_transaction_session_timeout": "0"}
# Rows that the role may not see must be an error, not a gap.
_READING = {
    "row_security": "off",
    "default_transaction_read_only": "on",
    "idle_session_timeout": "0",
    "jit": "off",
} | NOTICE_A_DEAD_CLIENT


class ShortTransactions:
    """A transaction per page: nobody's vacuum waits for a long run."""

    def __init__(self, conninfo: str) -> None:
        self.line = _open(conninfo, _LIMITS)

    @contextmanager
    def page(self) -> Iterator[None]:
        self.line.query("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY")
        try:
            yield
        except BaseException:
            self.line.close()  # which rolls back, whatever state the line is in
            raise
        self.line.query("COMMIT")

    def close(self) -> None:
        self.line.close()


class Snapshot:
    """What an exported snapshot sees, for as long as it takes."""

    def __init__(self, conninfo: str, snapshot: str) -> None:
        self.line = _open(conninfo, _NO_LIMITS)
        try:
            [(version,)] = self.line.query("SELECT current_setting('server_version_num')")
            if int(version or 0) >= 170000:
                self.line.query("SET transaction_timeout = 0")
            self.line.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self.line.query(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
        except QueryError as exc:
            self.line.close()
            raise RefusedError(
                f"the snapshot of the slot cannot be used any more: {exc.message}",
                remedy="begin again, with a new slot: cdc-relay setup -c FILE --backfill",
            ) from exc
        except BaseException:
            self.line.close()
            raise

    @contextmanager
    def page(self) -> Iterator[None]:
        yield

    def close(self) -> None:
        self.line.close()


def _open(conninfo: str, limits: dict[str, str]) -> Line:
    line = Line.open(conninfo)
    try:
        pin_settings(line)
        apply(line, limits | _READING)
    except BaseException:
        line.close()
        raise
    return line
