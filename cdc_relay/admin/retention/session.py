"""The connection of a pass: with limits that keep producers from waiting, and times in UTC."""

from __future__ import annotations

from psycopg.conninfo import make_conninfo

from cdc_relay.errors import RelayError
from cdc_relay.sources.line import Line
from cdc_relay.sources.session_settings import NOTICE_A_DEAD_CLIENT, apply

__all__ = ["LOCK_LIMIT", "STATEMENT_LIMIT_SECONDS", "open_session"]

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


def open_session(conninfo: str, *, slot: str, setting: str = "source.dsn") -> Line:
    """Under a name of its own: it is not the reader of the slot, and no standby."""
    line = Line.open(make_conninfo(conninfo, application_name=f"cdc-relay-retention:{slot}"[:63]), setting=setting)
    try:
        line.require_primary(setting)
        apply(line, _SETTINGS)
    except RelayError:
        line.close()
        raise
    return line
