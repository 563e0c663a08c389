"""What the loop knows of itself, as plain values: the loop writes, the HTTP server and the logs only read."""

from __future__ import annotations

import time
from enum import StrEnum

from cdc_relay.parking.entry import Survey

__all__ = ["State", "Stats"]


class State(StrEnum):
    STARTING = "starting"  # before the first successful start of the stream
    WAITING = "waiting"  # Postgres or the broker is away
    STANDBY = "standby"  # another process reads the slot
    STREAMING = "streaming"
    HOLDING = "holding"  # records are open and nothing has been acknowledged for some seconds
    RELEASED = "released"  # held too long: the line is closed until the broker answers
    STOPPING = "stopping"


class Stats:
    """One writer (the loop's thread), many readers; each field is replaced, never mutated in place."""

    __slots__ = (
        "change_count",
        "closed_topics",
        "dead_count",
        "dropped_count",
        "ignored_count",
        "last_settled_at",
        "last_turn_at",
        "lot",
        "open_bytes",
        "open_record_count",
        "parked_count",
        "published_bytes",
        "published_count",
        "reconnect_count",
        "republished_count",
        "sink_error",
        "slot_lag_bytes",
        "state",
        "state_reason",
        "state_since",
        "transaction_count",
    )

    def __init__(self) -> None:
        self.published_count = 0
        self.published_bytes = 0
        self.parked_count = 0  # records sent to the lot, whatever the reason
        self.republished_count = 0  # records published from the lot
        self.dead_count = 0
        self.lot: Survey | None = None  # None until the lot has been asked
        self.closed_topics: tuple[str, ...] = ()
        self.transaction_count = 0
        self.change_count = 0  # updates, deletes and truncates of outboxes
        self.dropped_count = 0  # rows that a route drops
        self.ignored_count = 0  # changes of relations that are no configured outbox
        self.reconnect_count = 0
        self.open_record_count = 0  # read and not yet settled
        self.open_bytes = 0
        self.slot_lag_bytes: int | None = None  # None until the catalog has been asked
        self.sink_error = ""  # the broker's latest complaint, empty when it answers again
        self.state = State.STARTING
        self.state_reason = ""
        now = time.monotonic()
        self.state_since = now
        self.last_turn_at = now
        self.last_settled_at = now  # also set when the first record opens, so that its age is a wait

    def enter(self, state: State, reason: str = "") -> bool:
        """Record a change of state; False when nothing changed (so that callers log each change once)."""
        if (state, reason) == (self.state, self.state_reason):
            return False
        if state is not self.state:
            self.state_since = time.monotonic()
        self.state_reason = reason
        self.state = state
        return True
