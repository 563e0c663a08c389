"""What goes into the lot, what comes out of it for publishing, and what is written down afterwards. Plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from cdc_relay.model import Columns, Failure, Headers, Identity, Policy, Record, Ticket

__all__ = [
    "EVENT_FIELDS",
    "LIVE",
    "Claim",
    "Entry",
    "Inventory",
    "KeyScope",
    "Mark",
    "Outcome",
    "Purpose",
    "Reason",
    "Status",
    "Survey",
]

EVENT_FIELDS = ("id", "type", "correlation_id", "tenant")  # by which people know an event
KeyScope = tuple[str, bytes | None]  # topic and key: what strict order is kept for


class Status(StrEnum):
    RETRYING = "retrying"  # due at next_retry_at; with reason topic_closed: due when the topic is open again
    BEHIND = "behind"  # waits for an earlier record of its key
    SCHEDULED = "scheduled"  # due at scheduled_at
    DEAD = "dead"  # gave up; an operator decides
    PUBLISHED = "published"
    DISCARDED = "discarded"
    CANCELLED = "cancelled"


LIVE = (Status.RETRYING, Status.BEHIND, Status.SCHEDULED, Status.DEAD)  # what the limits are about


class Reason(StrEnum):
    FAILURE = "failure"
    TOPIC_CLOSED = "topic_closed"
    BEHIND = "behind"
    SCHEDULE = "schedule"


class Entry(NamedTuple):
    """A change to be parked. `record` is None where it could not be routed; then `columns` has the row."""

    ticket: Ticket
    status: Status
    reason: Reason
    record: Record | None = None
    failure: Failure | None = None
    columns: Columns | None = None
    key: bytes | None = None  # of an unroutable change, as far as known
    value: bytes | None = None
    retry_seconds: float | None = None  # from now; None: not due by time
    scheduled_at: str | None = None
    is_urgent: bool = False  # older than what the lot may have of its key or topic: it must not wait for room


class Purpose(StrEnum):
    PUBLISH = "publish"
    COPY = "copy"  # of a dead record, to the dead-letter topic


class Claim(NamedTuple):
    """A parked record that this process has taken for publishing; the sink gives it back like a ticket.

    `attempts` counts this claim. `record` has the row's topic, key, value and headers, or is None where the row has to
    be routed again from `columns`. For a copy it is the record for the dead-letter topic, error headers included.
    """

    id: int
    attempts: int
    max_attempts: int
    purpose: Purpose
    status: Status  # before the claim
    reason: Reason
    outbox: str
    commit_lsn: int
    ordinal: int
    commit_time_us: int
    topic: str  # empty with columns
    size_bytes: int
    headers: Headers
    policy: Policy
    record: Record | None
    columns: Columns | None = None
    is_scheduled: bool = False  # it never holds its key
    xid: int = 0
    suspicion: int = 0  # how many runs ended without a word while they had claimed it
    event: tuple[bytes | None, ...] = ()  # what EVENT_FIELDS names

    @property
    def position(self) -> tuple[int, int]:
        return self.commit_lsn, self.ordinal

    @property
    def identity(self) -> Identity:
        return self.outbox, self.commit_lsn, self.ordinal, self.commit_time_us

    @property
    def keeps_order(self) -> bool:
        return self.policy.strict and not self.is_scheduled and self.purpose is Purpose.PUBLISH

    def __str__(self) -> str:
        return f"parked record {self.id}"


class Outcome(StrEnum):
    PUBLISHED = "published"
    FAILED = "failed"  # counted; due again after retry_seconds, or dead where that is None
    DROPPED = "dropped"  # routed again, and a route drops it now
    RELEASED = "released"  # not tried, or the broker's fault: not counted, back to what it was
    COPIED = "copied"
    COPY_FAILED = "copy_failed"  # tried again after retry_seconds


class Mark(NamedTuple):
    claim: Claim
    outcome: Outcome
    failure: Failure | None = None
    retry_seconds: float | None = None
    record: Record | None = None  # what was published where the claim had to be routed again


@dataclass(frozen=True, slots=True)
class Survey:
    """The lot at one moment, for one slot."""

    heads: dict[KeyScope, Status] = field(default_factory=dict)  # strict keys with live records: the oldest's status
    waiting_topics: frozenset[str] = frozenset()  # with records that wait for their topic
    due_seconds: float | None = None  # until the next retry, schedule or copy is due; 0 = now; None = nothing waits
    counts: dict[Status, int] = field(default_factory=dict)
    live_count: int = 0
    live_bytes: int = 0
    oldest_seconds: float | None = None  # age of the oldest live record


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a session has to know of the lot before its first record."""

    identities: frozenset[Identity]  # at or above the slot's confirmed LSN: settled already
    survey: Survey
    deaths: int = 0  # runs in a row that ended without a word at this very position
    suspects: dict[Identity, int] = field(default_factory=dict)  # who was noted alone at how many deaths
    handfuls: dict[Identity, int] = field(default_factory=dict)  # and how many from whom on were noted together
    confirmed_lsn: int = 0
    end_lsn: int = 0  # of the WAL when the session began

    @property
    def has_suspects_to_come(self) -> bool:
        """The stream will bring a record again that was noted when a run died."""
        to_come = (each for each in (*self.suspects, *self.handfuls) if each[1] >= self.confirmed_lsn)
        return any(each in self.handfuls or each not in self.identities for each in to_come)
