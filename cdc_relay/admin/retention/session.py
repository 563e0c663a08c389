"""The connection of a pass: with limits that keep producers from waiting, and times in UTC."""

from __future__ import annotations

from contextlib import suppress

from psycopg import pq
from psycopg.conninfo import make_conninfo

from cdc_relay.errors import RelayError
from cdc_relay.sources.line import Line, QueryError
from cdc_relay.sources.session_settings import NOTICE_A_DEAD_CLIENT, apply

__all__ = ["LOCK_LIMIT", "STATEMENT_LIMIT_SECONDS", "is_usable", "open_session"]

STATEMENT_LIMIT_SECONDS = 60
LOCK_LIMIT = "500ms"  # whoever wants the table meanwhile waits behind us for so long, and no longer
_SETTINGS = {
    "statement_timeout": f"{STATEMENT_LIMIT_SECONDS}s",
    "lock_timeout": LOCK_LIMIT,
    "idle_in_transaction_session_timeout": "60s",
    "default_transaction_isolation": "read committed",
    "client_encoding": "UTF8",
    "timezone": "UTC",
    "datestyle": "ISO",
    "row_security": "off",  # a row that the role may not see must be an error: it may not be settled
    "jit": "off",
    # From the places that were found to the rows: by place, never by reading the table once more.
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
} | NOTICE_A_DEAD_CLIENT

_NOTICE_A_STOP = {"client_connection_check_interval": "5s"}  # or a long read would go on for nobody


def open_session(conninfo: str, *, slot: str, setting: str = "source.dsn") -> Line:
    """Under a name of its own: it is not the reader of the slot, and no standby."""
    line = Line.open(make_conninfo(conninfo, application_name=f"cdc-relay-retention:{slot}"[:63]), setting=setting)
    try:
        line.require_primary(setting)
        apply(line, _SETTINGS)
        with suppress(QueryError):  # some platforms cannot
            apply(line, _NOTICE_A_STOP)
    except RelayError:
        line.close()
        raise
    return line


def is_usable(line: Line) -> bool:
    """False: the connection broke, or still works at what we gave up."""
    return line.pgconn.transaction_status == pq.TransactionStatus.IDLE
