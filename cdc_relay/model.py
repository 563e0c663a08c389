"""The nouns that the packages share. Pure data; knows no library and no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final, NamedTuple, Protocol

from cdc_relay.protocol.lsn import format_lsn

__all__ = [
    "DROPPED",
    "Action",
    "Columns",
    "Dropped",
    "ErrorClass",
    "Failure",
    "Headers",
    "Identity",
    "KeptColumn",
    "Origin",
    "Policy",
    "Recall",
    "Record",
    "Retry",
    "Scheduled",
    "Scope",
    "Standing",
    "Ticket",
    "Transaction",
    "Unroutable",
]

Headers = list[tuple[str, bytes | None]]
Identity = tuple[str, int, int, int]  # outbox, commit LSN, ordinal in the transaction, commit time in microseconds


class KeptColumn(NamedTuple):
    """A column of a row that is kept to be routed again."""

    name: str
    type_oid: int
    value: bytes | None  # as Postgres prints it
    type_modifier: int = -1  # the 3 of timestamp(3)


Columns = list[KeptColumn]  # a whole row


class Standing(NamedTuple):
    """Where a session begins."""

    confirmed_lsn: int  # of the slot
    end_lsn: int  # of the WAL
    ceiling_lsn: int  # what the guard has written down: it may be confirmed without asking again


class Transaction:
    """A transaction as the stream shows it. `end_lsn` is 0 until its Commit has been read."""

    __slots__ = ("commit_lsn", "commit_time_us", "end_lsn", "open_count", "record_count", "xid")
    run: str | None = None  # of a replay; the stream's have none
    run_row: bytes | None = None  # which of its rows

    def __init__(self, *, commit_lsn: int, commit_time_us: int, xid: int) -> None:
        self.commit_lsn = commit_lsn
        self.commit_time_us = commit_time_us
        self.xid = xid
        self.end_lsn = 0
        self.record_count = 0
        self.open_count = 0

    def __str__(self) -> str:
        return f"transaction {self.xid} at LSN {format_lsn(self.commit_lsn)}"


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The outbox that a change comes from; `event_fields` names what `Ticket.event` carries, in its order.

    Compared by identity: it is a key for every record, and a dataclass' own hash costs 0.3 us.
    """

    label: str  # the table as SQL writes it, or the prefix of messages
    event_fields: tuple[str, ...] = ("id", "type")  # of: id, type, correlation_id, tenant


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and when a parked record is tried again: after min(base * 2^n, max) seconds, give or take."""

    base_seconds: float = 5.0
    max_seconds: float = 1800.0
    jitter: float = 0.1  # share of the delay
    max_retries: int = 5


@dataclass(frozen=True, slots=True)
class Policy:
    """What a route asks for when its records cannot be published."""

    route: str  # its name, for operators
    strict: bool = False  # later records of a key wait for a failed one
    hold_dead: bool = False  # strict: they wait for a dead one too
    retry: Retry = Retry()


class Record(NamedTuple):
    """What the broker gets. A tuple, because one is made per event and a frozen dataclass costs four times as much."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int
    size_bytes: int  # key, value and headers: what the window counts
    policy: Policy
    partition: int = -1  # -1: the partitioner decides


class Scheduled(NamedTuple):
    """A record that is not due yet."""

    record: Record
    scheduled_at: str  # as Postgres prints it, in UTC


class Unroutable(NamedTuple):
    """A change that could not become a record: why, and the row to route again once the cause is gone."""

    failure: Failure
    columns: Columns
    policy: Policy
    key: bytes | None = None  # as far as the mapping can tell
    value: bytes | None = None


class Dropped(Enum):
    """The type of DROPPED; an enum so that type checkers narrow on `routed is DROPPED`."""

    DROPPED = "dropped"


DROPPED: Final = Dropped.DROPPED  # a route says that this change is for nobody


class Recall(Protocol):
    """Makes a record's headers again out of its ticket, so that none are kept while it is out: it is
    acknowledged, as a rule, and nobody asks for them. They cost more to keep and to free than to make.

    For the loop's thread alone: it is the route's own build."""

    def recall(self, ticket: Ticket) -> Headers: ...


class Ticket(NamedTuple):
    """What the sink gives back with its verdict: enough to settle the record, to name it, and to park it.

    Delivery reports bring topic, key and value but no headers: they are kept here, or what recalls them is. The value
    is not, or every open record would be in memory twice.
    """

    transaction: Transaction
    ordinal: int  # place in the transaction
    origin: Origin
    size_bytes: int
    event: tuple[bytes | None, ...]  # what origin.event_fields names
    headers: Headers | Recall
    topic: str  # empty when it could not be routed
    policy: Policy

    def find_headers(self) -> Headers:
        headers = self.headers
        return headers if isinstance(headers, list) else headers.recall(self)

    @property
    def identity(self) -> Identity:
        transaction = self.transaction
        return self.origin.label, transaction.commit_lsn, self.ordinal, transaction.commit_time_us

    @property
    def position(self) -> tuple[int, int]:
        """The order of the stream."""
        return self.transaction.commit_lsn, self.ordinal

    @property
    def keeps_order(self) -> bool:
        """The rest of its key waits while it is out."""
        return self.policy.strict

    def __str__(self) -> str:
        event_id = self.event[0] if self.event else None
        shown = "NULL" if event_id is None else event_id.decode("utf-8", "replace")
        return f"row id={shown} of {self.origin.label} (record {self.ordinal} of {self.transaction})"


class Scope(StrEnum):
    """How far a failure reaches."""

    RECORD = "record"
    BATCH = "batch"  # a verdict on records that travelled together
    TOPIC = "topic"
    CLUSTER = "cluster"
    PRODUCER = "producer"


class Action(StrEnum):
    PARK = "park"
    RESEND = "resend"  # another record of the batch was the culprit: send this one again as usual
    RESEND_ALONE = "resend_alone"  # find out whether this record is the culprit
    CLOSE_TOPIC = "close_topic"
    HOLD = "hold"  # send again when the cluster answers; park nothing
    REBUILD = "rebuild"  # a new producer; read again from the slot


class ErrorClass(StrEnum):
    TRANSIENT = "transient"  # may pass, or be repaired outside the record: tried again
    PERMANENT = "permanent"  # the change itself is at fault: sending it again cannot help
    CRASH = "crash"  # the process died of it


class Failure(NamedTuple):
    """Why a change could not become a record, or a record could not be published, and what an operator can do."""

    code: str
    reason: str
    remedy: str
    error_class: ErrorClass = ErrorClass.TRANSIENT
    scope: Scope = Scope.RECORD
    action: Action = Action.PARK
