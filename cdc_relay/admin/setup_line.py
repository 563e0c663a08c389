"""setup's connections: one setup at a time, and statements that the server gives up before we do."""

from __future__ import annotations

from cdc_relay.admin.refusals import explained
from cdc_relay.sources.line import Line

__all__ = ["begin", "run_step"]

STATEMENT_LIMIT_SECONDS = 60  # a slot waits for open transactions, a publication for locks: say so instead of hanging
_LOCK_KEY = 0x6364635F72656C61  # "cdc_rela": two setups at once, as from two starting pods, go one after the other


def begin(line: Line, setting: str = "source.dsn") -> None:
    with explained("wait for another setup to finish", needs=f"the role of {setting} must be allowed to connect"):
        line.query(f"SET statement_timeout = '{STATEMENT_LIMIT_SECONDS}s'")
        run_step(line, f"SELECT pg_advisory_lock({_LOCK_KEY})")


def run_step(line: Line, sql: str) -> None:
    line.query(sql, timeout_seconds=STATEMENT_LIMIT_SECONDS + 5)  # the server's own limit speaks first
