"""A small world around one real intake: a server with a slot, a broker, a lot and a guard, moved one action at a time.

The world knows the facts: what was delivered, what the lot has, what the slot was told. After each action it compares
them with what intake, ledger and window say. Nothing in it is left to chance, and nothing waits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from typing import NamedTuple

from cdc_relay.delivery.intake import Intake
from cdc_relay.delivery.outcome import Outcome
from cdc_relay.errors import RelayError
from cdc_relay.model import Identity, Ticket
from cdc_relay.protocol.messages import Relation
from cdc_relay.routing.router import AnyPlan, Clock, Outbox, Router
from tests.unit import frames
from tests.unit.intake_rig import OUTBOX, ROW
from tests.unit.native_rig import Twins

__all__ = ["ALWAYS", "Action", "Place", "Scene", "ViolationError", "World", "Write"]

ANY = 1 << 63  # a guard that allows everything
PREFIX = Outbox("", "", "message prefix outbox", "id", "aggregateid", "type", "payload", message_prefix="outbox")
CONTENT = b'{"id": "e1", "aggregatetype": "order", "aggregateid": "k1", "type": "Placed", "payload": {}}'
RELATION = frames.relation()

Place = tuple[int, int, int]  # of a record: commit LSN, commit time, ordinal
Action = tuple[str] | tuple[str, int] | tuple[str, Place]  # a method of World, and what it is about
ALWAYS = frozenset({"read", "acknowledge", "report"})


def _no_clock() -> int:
    raise AssertionError("no row of this world is scheduled")


class PlannedRouter(Router):
    """Plans are only looked up once they are made: all worlds may have the same, and making them is most of a world."""

    def plan(self, relation: Relation, *, now_us: Clock = _no_clock) -> AnyPlan | None:
        return self._known_plan(relation)

    def plan_messages(self, *, now_us: Clock = _no_clock) -> dict[str, AnyPlan]:
        return self._known_message_plans()

    @cache  # noqa: B019  # there is one, for as long as the tests run
    def _known_plan(self, relation: Relation) -> AnyPlan | None:
        return super().plan(relation, now_us=_no_clock)

    @cache  # noqa: B019
    def _known_message_plans(self) -> dict[str, AnyPlan]:
        return super().plan_messages(now_us=_no_clock)


ROUTER = PlannedRouter([OUTBOX, PREFIX])


class ViolationError(Exception):
    """The protocol broke its word."""


class Write(NamedTuple):
    """One transaction of the WAL, or a message outside of transactions. The server sends it again after a reconnect
    unless the slot is confirmed beyond `commit_lsn`: then it is gone for ever."""

    commit_lsn: int
    record_count: int = 1
    time_us: int = frames.EPOCH_US
    is_message: bool = False
    is_hidden: bool = False  # the publication had been changed: the server passes it in silence

    @property
    def end_lsn(self) -> int:
        return self.commit_lsn + 1

    @property
    def places(self) -> list[Place]:
        return [(self.commit_lsn, self.time_us, ordinal) for ordinal in range(self.record_count)]


class Step(NamedTuple):
    """One frame of the stream."""

    kind: str
    write: Write
    ordinal: int = 0


@dataclass(frozen=True)
class Scene:
    """What is written, and what may happen."""

    history: tuple[Write, ...]
    actions: frozenset[str]  # beside ALWAYS
    other_history: tuple[Write, ...] = ()  # of the server that takes over
    window: int = 10
    least_states: int = 0  # fewer, and the enumeration has shrunk
    end_lsn: int = 90  # of the WAL


class Status(Enum):
    OPEN = auto()  # out, or about to be
    PARKING = auto()  # on its way into the lot
    PARKED = auto()  # in the lot, and the loop has not heard it


@dataclass
class Entry:
    """What the ledger should hold: a transaction, or an idle position."""

    end_lsn: int
    places: list[Place] = field(default_factory=list)
    is_closed: bool = False


class World:
    """`actions` says what may come next, `perform` lets it happen, `finish` lets everything come to its end."""

    def __init__(self, scene: Scene, twins: Twins) -> None:
        self.scene = scene
        self.twins = twins
        self.history = scene.history
        self.confirmed_lsn = 0  # of the slot
        self.persisted_lsn = 0  # what a server that dies now would remember of it
        self.ceiling_lsn = 0 if "raise_ceiling" in scene.actions else ANY  # in the guard's row
        self.delivered: set[Place] = set()
        self.lot: set[Place] = set()
        self.is_refused = False
        self.reconnect()

    # -- what may happen: the names of these are the actions

    def reconnect(self) -> None:
        """A crash, or a line that was cut: what is open is forgotten, and what is not confirmed comes again."""
        self.known = frozenset(place for place in self.lot if place[0] >= self.confirmed_lsn)
        window = self.twins.window(record_limit=self.scene.window, byte_limit=1 << 20)
        ceiling_lsn = max(self.ceiling_lsn, self.confirmed_lsn)
        self.intake = Intake(ROUTER, window, frozenset(map(identity_of, self.known)), ceiling_lsn=ceiling_lsn)
        self.intake.take(RELATION)
        self.stream = [step for write in self.history if write.commit_lsn >= self.confirmed_lsn for step in send(write)]
        self.cursor = 0
        self.entries: list[Entry] = []
        self.tickets: dict[Place, tuple[Status, Ticket]] = {}
        self.received_lsn = self.told_lsn = 0
        self.looking: tuple[int, bool] | None = None  # the position under check, and whether the look will see a change
        self.rising: tuple[int, bool] | None = None  # the ceiling on its way, and whether it is written down

    def restart_server(self) -> None:
        """A slot's confirmed position is written to disk now and then: an older one comes back."""
        self.confirmed_lsn = self.persisted_lsn
        self.reconnect()

    def fail_over(self) -> None:
        """To a server that never had the end of our history, and has written its own since, at the same positions."""
        shared = [write for write in self.history if write in self.scene.other_history]
        self.history = self.scene.other_history
        self.persisted_lsn = self.confirmed_lsn = min(self.confirmed_lsn, shared[-1].end_lsn)
        self.lot = {place for place in self.lot if place[0] < shared[-1].end_lsn}
        self.reconnect()

    def read(self) -> None:
        step = self.stream[self.cursor]
        self.cursor += 1
        if step.kind in ("begin", "message"):
            self.entries.append(Entry(step.write.end_lsn))
        outcome = self.intake.take(frame_of(step))
        if step.kind in ("row", "message"):
            self._open((step.write.commit_lsn, step.write.time_us, step.ordinal), outcome)
        if step.kind in ("commit", "message"):
            self.entries[-1].is_closed = True
        if step.kind != "row":
            self.received_lsn = max(self.received_lsn, step.write.commit_lsn + (step.kind != "begin"))

    def keepalive(self, lsn: int) -> None:
        self.intake.take(frames.keepalive(lsn))
        self.received_lsn = max(self.received_lsn, lsn)

    def acknowledge(self, place: Place) -> None:
        self.delivered.add(place)
        self.settle(place)

    def park(self, place: Place) -> None:
        self.tickets[place] = Status.PARKING, self.tickets[place][1]

    def park_fails(self, place: Place) -> None:
        self.tickets[place] = Status.OPEN, self.tickets[place][1]

    def park_commits(self, place: Place) -> None:
        self.lot.add(place)
        self.tickets[place] = Status.PARKED, self.tickets[place][1]

    def park_is_heard(self, place: Place) -> None:
        self.settle(place)

    def look(self) -> None:
        """At the publication: a look that begins before the server has passed the change may not see it."""
        lsn = self.intake.idle_lsn
        self.looking = lsn, any(write.is_hidden and write.commit_lsn < lsn for write in self.history)

    def look_ends(self) -> None:
        assert self.looking is not None
        (lsn, sees_change), self.looking = self.looking, None
        if sees_change:
            self.is_refused = True
            return
        last_lsn = self.entries[-1].end_lsn if self.entries else 0
        is_new = lsn > last_lsn and not self._is_in_transaction
        self.intake.confirm_idle(lsn)
        if is_new:
            self.entries.append(Entry(lsn, is_closed=True))

    def raise_ceiling(self) -> None:
        self.rising = self.intake.ledger.safe_lsn, False

    def raise_fails(self) -> None:
        self.rising = None

    def raise_commits(self) -> None:
        assert self.rising is not None
        self.ceiling_lsn = self.rising[0]
        self.rising = self.ceiling_lsn, True

    def raise_is_heard(self) -> None:
        assert self.rising is not None
        self.intake.ledger.ceiling_lsn, self.rising = self.rising[0], None

    def report(self) -> None:
        lsn = self.intake.ledger.report()
        self.check_report(lsn)
        self.told_lsn = lsn
        self.confirmed_lsn = max(self.confirmed_lsn, lsn)

    def persist(self) -> None:
        """A checkpoint of the server, now and then."""
        self.persisted_lsn = self.confirmed_lsn

    # -- how it is driven

    def actions(self) -> list[Action]:
        if self.is_refused:
            return []
        allowed = self.scene.actions | ALWAYS
        return [action for action in self._possible() if action[0] in allowed]

    def perform(self, action: Action) -> None:
        try:
            self.repeat(action)
        except RelayError as exc:
            raise ViolationError(f"{type(exc).__name__}: {exc}") from exc
        self._check()

    def repeat(self, action: Action) -> None:
        """What held the first time holds again."""
        kind, *about = action
        getattr(self, kind)(*about)

    def finish(self) -> None:
        """Everything that is on its way arrives: then everything must be confirmed."""
        while self._has_more:
            for place in list(self.tickets):
                self._finish_record(place)
            if self._can_read:
                self.perform(("read",))
        for _ in range(2):  # the first look may have begun too early, and the first raise with too little
            self._finish_idle()
            self._finish_ceiling()
        self.perform(("report",))
        wanted_lsn = self._last_end_lsn if self.is_refused else self.scene.end_lsn
        self._require(self.confirmed_lsn >= wanted_lsn, f"{self.confirmed_lsn} is all that is ever confirmed")

    def key(self) -> object:
        """All that can make a difference for what comes."""
        ledger = self.intake.ledger
        return (
            (self.history, self.confirmed_lsn, self.persisted_lsn, self.ceiling_lsn, self.is_refused),
            (frozenset(self.delivered), frozenset(self.lot), self.known),
            (self.cursor, self.received_lsn, self.told_lsn, self.looking, self.rising),
            tuple((place, status) for place, (status, _) in sorted(self.tickets.items(), key=lambda item: item[0])),
            tuple((entry.end_lsn, entry.is_closed) for entry in self.entries),
            (self.intake.idle_lsn, ledger.safe_lsn, ledger.settled_lsn, ledger.ceiling_lsn, ledger.received_lsn),
        )

    def settle(self, place: Place) -> None:
        _, ticket = self.tickets.pop(place)
        self.intake.settle(ticket)

    # -- what is possible

    def _possible(self) -> list[Action]:
        found: list[Action] = [("report",), ("reconnect",), ("restart_server",)]
        if self._can_read:
            found.append(("read",))
        if self.persisted_lsn != self.confirmed_lsn:
            found.append(("persist",))
        if self.history is self.scene.history and self.scene.other_history:
            found.append(("fail_over",))
        found += [("keepalive", lsn) for lsn in self._idle_positions()]
        for place, (status, _) in self.tickets.items():
            found += possible_with(place, status)
        return found + self._possible_looks() + self._possible_raises()

    def _possible_looks(self) -> list[Action]:
        if self.looking is not None:
            return [("look_ends",)]
        return [("look",)] if self.intake.idle_lsn else []

    def _possible_raises(self) -> list[Action]:
        ledger = self.intake.ledger
        if self.rising is None:
            return [("raise_ceiling",)] if ledger.safe_lsn > ledger.ceiling_lsn else []
        return [("raise_is_heard",)] if self.rising[1] else [("raise_commits",), ("raise_fails",)]

    def _idle_positions(self) -> list[int]:
        """Between transactions from the end of what was sent to the begin of what comes; within one, any."""
        if self._is_in_transaction:
            return [self.scene.end_lsn]
        first = max((step.write.end_lsn for step in self.stream[: self.cursor]), default=self.confirmed_lsn)
        last = min((step.write.commit_lsn for step in self.stream[self.cursor :]), default=self.scene.end_lsn)
        hidden = [write.commit_lsn for write in self.history if write.is_hidden and first < write.commit_lsn < last]
        return [first, *hidden, last]

    @property
    def _can_read(self) -> bool:
        return self.cursor < len(self.stream) and not self.intake.window.is_full

    @property
    def _has_more(self) -> bool:
        return bool(self.tickets) or self.cursor < len(self.stream)

    @property
    def _is_in_transaction(self) -> bool:
        return bool(self.entries) and not self.entries[-1].is_closed

    @property
    def _last_end_lsn(self) -> int:
        return max(write.end_lsn for write in self.history if not write.is_hidden)

    # -- to the end

    def _finish_record(self, place: Place) -> None:
        status = self.tickets[place][0]
        if status is Status.PARKING:
            self.perform(("park_commits", place))
        self.perform(("acknowledge" if status is Status.OPEN else "park_is_heard", place))

    def _finish_idle(self) -> None:
        if self.looking is not None:
            self.perform(("look_ends",))
        if not self.is_refused:
            self.perform(("keepalive", self.scene.end_lsn))
            self.perform(("look",))
            self.perform(("look_ends",))

    def _finish_ceiling(self) -> None:
        while actions := self._possible_raises():
            self.perform(actions[0])

    # -- what must hold

    def _open(self, place: Place, outcome: Outcome | None) -> None:
        self.entries[-1].places.append(place)
        self._require((outcome is None) == (place in self.known), f"record {place} was published again, or skipped")
        if outcome is not None:
            self.tickets[place] = Status.OPEN, outcome[1]

    def check_ledger(self) -> None:
        self._require(self.intake.ledger.safe_lsn == self._settled_prefix(), "safe is not the settled prefix")
        self._require(self.intake.ledger.received_lsn == self.received_lsn, "it does not know what it has received")

    def check_report(self, lsn: int) -> None:
        self._require(self.told_lsn <= lsn, f"{lsn} was confirmed after {self.told_lsn}")
        self._require(lsn <= self.received_lsn, f"{lsn} was confirmed, received up to {self.received_lsn}")

    def _check(self) -> None:
        self.check_ledger()
        self._require(self.intake.window.record_count == len(self.tickets), "the window has lost count")
        self._require(self.confirmed_lsn <= self.ceiling_lsn, "the slot is beyond the guard's ceiling")
        for write in self.history:
            if write.commit_lsn < self.confirmed_lsn:
                self._require(not write.is_hidden, f"{write} was passed unseen")
                unsettled = set(write.places) - self.delivered - self.lot
                self._require(not unsettled, f"{write} is confirmed and unsettled")

    def _settled_prefix(self) -> int:
        end_lsn = 0
        for entry in self.entries:
            if not entry.is_closed or any(place in self.tickets for place in entry.places):
                break
            end_lsn = entry.end_lsn
        return end_lsn

    def _require(self, holds: bool, complaint: str) -> None:
        if not holds:
            raise ViolationError(complaint)


def possible_with(place: Place, status: Status) -> list[Action]:
    match status:
        case Status.OPEN:
            return [("acknowledge", place), ("park", place)]
        case Status.PARKING:
            return [("park_commits", place), ("park_fails", place)]
        case Status.PARKED:
            return [("park_is_heard", place)]


def identity_of(place: Place) -> Identity:
    commit_lsn, time_us, ordinal = place
    return (OUTBOX if time_us else PREFIX).label, commit_lsn, ordinal, time_us


@cache
def send(write: Write) -> list[Step]:
    if write.is_hidden:
        return []
    if write.is_message:
        return [Step("message", write)]
    rows = [Step("row", write, ordinal) for ordinal in range(write.record_count)]
    return [Step("begin", write), *rows, Step("commit", write)]


@cache
def frame_of(step: Step) -> bytes:
    write = step.write
    match step.kind:
        case "begin":
            return frames.begin(write.commit_lsn, time_us=write.time_us)
        case "row":
            return frames.insert(*ROW)
        case "commit":
            return frames.commit(write.end_lsn, time_us=write.time_us)
    return frames.message(CONTENT, lsn=write.end_lsn, transactional=False)
