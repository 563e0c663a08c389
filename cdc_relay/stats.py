"""What the loop knows of itself, as plain values: the loop writes, the HTTP server and the logs only read."""

from __future__ import annotations

import time
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from cdc_relay.counters import Counters
from cdc_relay.model import Failure
from cdc_relay.parking.entry import Survey

__all__ = ["Bounds", "Closure", "Note", "Room", "State", "Stats", "Upkeep"]

_NOTE_COUNT = 20
_SAMPLE_COUNT = 11  # one a second: the rate of the last ten


class State(StrEnum):
    STARTING = "starting"  # before the first successful start of the stream
    WAITING = "waiting"  # Postgres or the broker is away
    STANDBY = "standby"  # another process reads the slot
    STREAMING = "streaming"
    HOLDING = "holding"  # records are open and nothing has been acknowledged for some seconds
    RELEASED = "released"  # held too long: the line is closed until the broker answers
    STOPPING = "stopping"


class Closure(NamedTuple):
    """A topic that cannot take records now."""

    topic: str
    failure: Failure
    since: float


class Bounds(NamedTuple):
    """What the configuration allows at most."""

    window_records: int = 0
    window_bytes: int = 0
    lot_records: int = 0
    lot_bytes: int = 0


class Room(NamedTuple):
    """What Postgres keeps for the slot."""

    left_bytes: int  # that may still be written
    limit_bytes: int


class Note(NamedTuple):
    """Something that went wrong, by the wall clock; what is said again is counted, not repeated."""

    what: str  # no row's values, no ids: the same trouble of many records is one note
    first_at: float
    last_at: float
    times: int = 1


class Upkeep:
    """What the threads beside the loop have done and seen; one writer per field, each replaced whole."""

    __slots__ = ("certificates", "dropped", "error", "made", "ran_at", "removed", "tried_at")

    def __init__(self) -> None:
        self.certificates: Mapping[str, float] = {}  # by place: until when, in seconds since 1970
        # Of retention, by table, since the start:
        self.removed: Mapping[str, int] = {}  # rows, those of dropped partitions included
        self.made: Mapping[str, int] = {}  # partitions
        self.dropped: Mapping[str, int] = {}
        self.ran_at: float | None = None  # by the wall clock: the end of the last whole pass without an error
        self.tried_at: float | None = None  # the end of the last pass that had anything to do
        self.error = ""  # what kept it from a part of its work, empty when all of it was done


_UNBOUNDED = Bounds()


class Stats:
    """One writer, the loop's thread, and many readers; each field is replaced, never mutated in place.

    But for `counters`, which the loop adds to, and `upkeep`, which others write.
    """

    __slots__ = (
        "bounds",
        "change_count",
        "closed_topics",
        "counters",
        "dead_count",
        "dropped_count",
        "ignored_count",
        "lag_us",
        "last_delivered_at",
        "last_settled_at",
        "last_turn_at",
        "lot",
        "notes",
        "oldest_commit_us",
        "open_bytes",
        "open_record_count",
        "parked_count",
        "published_bytes",
        "published_count",
        "reconnect_count",
        "republished_count",
        "room",
        "samples",
        "service",
        "sink_error",
        "sink_statistics",
        "slot",
        "slot_lag_bytes",
        "started_at",
        "state",
        "state_reason",
        "state_since",
        "transaction_count",
        "upkeep",
    )

    def __init__(self, *, slot: str = "", service: str = "", bounds: Bounds = _UNBOUNDED) -> None:
        self.slot = slot
        self.service = service or slot
        self.bounds = bounds
        self.counters = Counters()
        self.upkeep = Upkeep()
        self.published_count = 0
        self.published_bytes = 0
        self.parked_count = 0  # records sent to the lot, whatever the reason
        self.republished_count = 0  # records published from the lot
        self.dead_count = 0
        self.lot: Survey | None = None  # None until the lot has been asked
        self.closed_topics: tuple[Closure, ...] = ()
        self.transaction_count = 0
        self.change_count = 0  # updates, deletes and truncates of outboxes
        self.dropped_count = 0  # rows that a route drops
        self.ignored_count = 0  # changes of relations that are no configured outbox
        self.reconnect_count = 0
        self.open_record_count = 0  # read and not yet settled
        self.open_bytes = 0
        self.slot_lag_bytes: int | None = None  # None until the catalog has been asked
        self.room: Room | None = None  # None: not asked yet, or as much as the disk has
        self.sink_statistics = ""  # as the broker's client library prints them
        self.oldest_commit_us: int | None = None  # of what is read and not settled, by the server's clock; as sampled
        self.lag_us: int | None = None  # how long after its commit the newest was sent; 0: nothing comes; as sampled
        self.samples: tuple[tuple[float, int], ...] = ()  # when, and how many were published by then
        self.notes: tuple[Note, ...] = ()  # the newest last
        self.sink_error = ""  # the broker's latest complaint, empty when it answers again
        self.state = State.STARTING
        self.state_reason = ""
        now = time.monotonic()
        self.started_at = now
        self.state_since = now
        self.last_turn_at = now
        self.last_settled_at = now  # also set when the first record opens, so that its age is a wait
        self.last_delivered_at: float | None = None  # when the broker last acknowledged something

    def enter(self, state: State, reason: str = "") -> bool:
        """Record a change of state; False when nothing changed (so that callers log each change once)."""
        if (state, reason) == (self.state, self.state_reason):
            return False
        if state is not self.state:
            self.state_since = time.monotonic()
        if reason and state is not State.STANDBY:  # to stand by is no trouble
            self.note(f"{state}: {reason}")
        self.state_reason = reason
        self.state = state
        return True

    def see_slot(self, lag_bytes: int | None, room_bytes: tuple[int, int] | None) -> None:
        self.slot_lag_bytes = lag_bytes
        self.room = None if room_bytes is None else Room(*room_bytes)

    def note(self, what: str) -> None:
        """Among the last things that went wrong."""
        now = time.time()
        known = next((each for each in self.notes if each.what == what), None)
        note = Note(what, now, now) if known is None else known._replace(last_at=now, times=known.times + 1)
        others = [each for each in self.notes if each is not known]
        self.notes = (*others[1 - _NOTE_COUNT :], note)

    def sample(self, now: float) -> None:
        """Once a second or so."""
        self.samples = (*self.samples[1 - _SAMPLE_COUNT :], (now, self.published_count))
