"""Whether a slot outlives a failover of Postgres, and the command that makes it so. Only looks."""

from __future__ import annotations

from cdc_relay.admin.psql_line import psql
from cdc_relay.sources.line import Line

__all__ = ["failover_command", "find_failover_hint"]

# Before 17 the column is not there, and no slot can have it.
_IS_OFF = "SELECT 1 FROM pg_replication_slots s WHERE slot_name = $1 AND to_jsonb(s) ->> 'failover' = 'false'"


def find_failover_hint(line: Line, conninfo: str, slot: str) -> str | None:
    """`conninfo` is that of the line."""
    if not line.query(_IS_OFF, [slot]):
        return None
    return (
        f"slot {slot} was made without failover: a standby that is promoted will not have it (docs/failover.md)."
        f" To change that, stop the relay and run: {failover_command(conninfo, slot)}"
    )


def failover_command(dsn: str, slot: str) -> str:
    """For a shell. SQL cannot do it: only the replication protocol knows the command."""
    return psql(dsn, f"ALTER_REPLICATION_SLOT {slot} (FAILOVER true)", replication="database")
