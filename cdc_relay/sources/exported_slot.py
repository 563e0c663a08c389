"""A new slot and the snapshot of exactly what was committed before it; and the end of such a slot.

The snapshot can be used for as long as this connection is open and nothing is asked on it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass

from cdc_relay.errors import RefusedError, RelayError, SourceError
from cdc_relay.protocol.lsn import format_lsn, parse_lsn
from cdc_relay.sources.line import Line, QueryError
from cdc_relay.sources.printed_rows import quote_name
from cdc_relay.sources.session_settings import NOTICE_A_DEAD_CLIENT, apply

__all__ = ["ExportedSlot", "drop_slot", "export_slot", "made_no_slot"]

_WAIT_SECONDS = 60.0  # the slot waits for open transactions: say so instead of hanging
_FREE_SECONDS = 15.0  # until Postgres has noticed that the process is gone that had the slot
_VERSION_17 = 170000
# The snapshot lives as long as its session, which is in a transaction, and idle.
_SETTINGS = {"idle_session_timeout": "0", "idle_in_transaction_session_timeout": "0"} | NOTICE_A_DEAD_CLIENT
_SINCE_17 = {"transaction_timeout": "0"}
_IN_USE, _NO_SUCH_OBJECT = "55006", "42704"
_WRITERS = "SELECT pid, usename, datname, xact_start FROM pg_stat_activity WHERE backend_xid IS NOT NULL"
_SLOT = (
    "SELECT plugin, database = current_database(), confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = $1"
)


@dataclass(frozen=True, slots=True)
class ExportedSlot:
    line: Line
    lsn: int  # from here on the slot has every commit
    snapshot: str

    def close(self) -> None:
        self.line.close()


def export_slot(replication_conninfo: str, slot: str, *, control: Line) -> ExportedSlot:
    line = Line.open(replication_conninfo)
    try:
        [(version,)] = line.query("SELECT current_setting('server_version_num')")
        apply(line, _SETTINGS | (_SINCE_17 if int(version or 0) >= _VERSION_17 else {}))
        failover = ", FAILOVER true" if int(version or 0) >= _VERSION_17 else ""
        command = f"CREATE_REPLICATION_SLOT {quote_name(slot)} LOGICAL pgoutput (SNAPSHOT 'export'{failover})"
        [(_, lsn, snapshot, _)] = line.query(command, timeout_seconds=_WAIT_SECONDS)
    except BaseException as exc:
        _cancel(line, control)
        line.close()
        if isinstance(exc, SourceError):
            raise _explain(exc, slot) from exc
        raise
    return ExportedSlot(line, parse_lsn(lsn or "0/0"), snapshot or "")


def made_no_slot(exc: RelayError) -> bool:
    """Whether it is certain after `export_slot` failed so; where the answer was lost it is not."""
    cause = exc.__cause__
    return isinstance(cause, QueryError) or not isinstance(cause, SourceError)


def drop_slot(control: Line, slot: str, *, lsn: int, not_before: int) -> bool:
    """The slot that a backfill made, and no other: it begins at `lsn`, or, where that is 0, not before the backfill."""
    rows = control.query(_SLOT, [slot])
    if not rows:
        return False
    plugin, is_here, confirmed = rows[0]
    begins = parse_lsn(confirmed or "0/0")
    is_ours = begins == lsn if lsn else not confirmed or begins >= not_before
    if plugin != "pgoutput" or is_here != "t" or not is_ours:
        raise RefusedError(
            f"slot {slot} is not the one that the unfinished backfill made: it is confirmed up to"
            f" {format_lsn(begins)}, and that one would be at {format_lsn(lsn or not_before)}",
            remedy=f"see who uses it; if nobody does: SELECT pg_drop_replication_slot('{slot}'); then run this again",
        )
    _drop(control, slot)
    return True


def _drop(control: Line, slot: str) -> None:
    deadline = time.monotonic() + _FREE_SECONDS
    while True:
        try:
            control.query("SELECT pg_drop_replication_slot($1)", [slot])
            return
        except QueryError as exc:
            if exc.sqlstate == _NO_SUCH_OBJECT:
                return
            if exc.sqlstate != _IN_USE or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _cancel(line: Line, control: Line) -> None:
    """A slot that waits for open transactions does not notice that nobody waits for it."""
    with suppress(RelayError):
        control.query("SELECT pg_terminate_backend($1::int)", [str(line.backend_pid)])


def _explain(exc: SourceError, slot: str) -> RelayError:
    if isinstance(exc, QueryError):
        needs = {"42501": "ALTER ROLE <the role of source.dsn> REPLICATION"}
        needs["53400"] = "raise max_replication_slots (ALTER SYSTEM SET, then restart) or drop a slot nobody reads"
        return RefusedError(f"slot {slot}: {exc.message}", remedy=needs.get(exc.sqlstate, "see Postgres' own message"))
    return RefusedError(
        f"slot {slot}: not made within {_WAIT_SECONDS:g} s: {exc.message}",
        remedy=f"Postgres waits for open transactions to end; see {_WRITERS} ORDER BY xact_start; and"
        " pg_prepared_xacts; then run this again",
    )
