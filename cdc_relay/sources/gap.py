"""Events that may be in no slot any more: from where to where, about how many, and the command that publishes them.

Pure. What is missing is told by transaction number, not by time: a row's time is that of its transaction's start.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from cdc_relay.protocol.lsn import format_lsn

__all__ = ["Gap", "Mark", "find_replay"]

_XIDS = 1 << 32
_OLDEST_AGE = 1 << 31  # a row's transaction number says nothing of one that is further back
_GENEROUS = timedelta(minutes=10)  # a row's time is older than its commit


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment of the server: every transaction with a number below `xid` was over, and its commit is before `lsn`."""

    lsn: int
    xid: int  # with its epoch
    at: datetime
    rows: int  # that the outboxes had been given, as Postgres' statistics count

    def __str__(self) -> str:
        return f"LSN {format_lsn(self.lsn)} ({self.at:%Y-%m-%d %H:%M:%S} UTC)"


@dataclass(frozen=True, slots=True)
class Gap:
    begin: Mark
    end: Mark
    replay: str

    @property
    def row_estimate(self) -> int | None:
        """None when the statistics have been reset since."""
        count = self.end.rows - self.begin.rows
        return count if count >= 0 and self.end.rows else None

    def __str__(self) -> str:
        rows = "an unknown number of" if self.row_estimate is None else f"about {self.row_estimate:,}"
        return f"from {self.begin} to {self.end}, {rows} rows of the outboxes"


def find_replay(begin: Mark, end: Mark, *, same_server: bool) -> str:
    """The command that publishes what may be missing again, and perhaps a little more."""
    command = "cdc-relay replay -c FILE"
    if not same_server:  # transaction numbers mean nothing there
        return f"{command} --since {begin.at - _GENEROUS:%Y-%m-%dT%H:%M:%SZ}"
    if end.xid - begin.xid >= _OLDEST_AGE:
        return command
    return f"{command} --where \"age(xmin) BETWEEN 0 AND age('{begin.xid % _XIDS}'::xid)\""
