"""The nouns that the packages share: Transaction, Record, Ticket, Failure. Pure data; knows no library and no I/O."""

from __future__ import annotations

from typing import NamedTuple

from cdc_relay.protocol.lsn import format_lsn

__all__ = ["Failure", "Headers", "Record", "Ticket", "Transaction"]

Headers = list[tuple[str, bytes | None]]


class Transaction:
    """A transaction as the stream shows it. `end_lsn` is 0 until its Commit has been read."""

    __slots__ = ("commit_lsn", "commit_time_us", "end_lsn", "open_count", "record_count", "xid")

    def __init__(self, *, commit_lsn: int, commit_time_us: int, xid: int) -> None:
        self.commit_lsn = commit_lsn
        self.commit_time_us = commit_time_us
        self.xid = xid
        self.end_lsn = 0
        self.record_count = 0
        self.open_count = 0

    def __str__(self) -> str:
        return f"transaction {self.xid} at LSN {format_lsn(self.commit_lsn)}"


class Record(NamedTuple):
    """What the broker gets. A tuple, because one is made per event and a frozen dataclass costs four times as much."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int
    size_bytes: int  # key, value and headers: what the window counts
    event_id: bytes | None  # as Postgres prints it
    partition: int = -1  # -1: the partitioner decides


class Ticket(NamedTuple):
    """What the sink gives back with its verdict: enough to settle the record, to name it, and to park it.

    Delivery reports bring topic, key and value but no headers, so those are kept here; the value is not,
    or every open record would be in memory twice.
    """

    transaction: Transaction
    ordinal: int  # place in the transaction; with outbox, commit LSN and commit time it is the change's identity
    outbox: str
    size_bytes: int
    event_id: bytes | None
    headers: Headers

    def __str__(self) -> str:
        event_id = "NULL" if self.event_id is None else self.event_id.decode("utf-8", "replace")
        return f"row id={event_id} of {self.outbox} (record {self.ordinal} of {self.transaction})"


class Failure(NamedTuple):
    """Why a change could not become a record, or a record could not be published, and what an operator can do."""

    code: str
    reason: str
    remedy: str
    permanent: bool = False  # the change itself is at fault: sending it again cannot help
