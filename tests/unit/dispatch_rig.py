"""One session's dispatch between fakes, turned by hand as the session would, and a slot that delivers again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from cdc_relay.delivery.failures import judge
from cdc_relay.delivery.intake import Intake
from cdc_relay.delivery.window import Window
from cdc_relay.dispatch.dispatch import Dispatch, DispatchOptions
from cdc_relay.model import Action, ErrorClass, Failure, Identity, Policy, Record, Retry, Scope, Unroutable
from cdc_relay.parking.entry import Claim, Inventory
from cdc_relay.routing.conditions import Exact
from cdc_relay.routing.fields import Field
from cdc_relay.routing.router import Outbox, Route, Router
from cdc_relay.routing.templates import Template
from cdc_relay.sinks.sink import Slip
from cdc_relay.stats import Stats
from tests.unit import frames
from tests.unit.fake_lot import FakeJobs, FakeLot, Row
from tests.unit.fakes import FakeClock, FakeSink

__all__ = ["BROKEN", "MISSING", "POISON", "UNREACHABLE", "Broker", "Committed", "Event", "Rig"]

RETRY = Retry(base_seconds=1.0, max_seconds=4.0, jitter=0.0, max_retries=2)
POLICIES = {
    "calm": Policy("calm", retry=RETRY),
    "other": Policy("other", retry=RETRY),
    "strict": Policy("strict", strict=True, retry=RETRY),
    "hold": Policy("hold", strict=True, hold_dead=True, retry=RETRY),
}
COLUMNS = (*frames.OUTBOX_COLUMNS, "due")
OUTBOX = Outbox(
    *("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload"),
    schedule_column="due",
    routes=tuple(
        Route(Template.parse(name), policy, ((Field("aggregatetype"), Exact(name.encode())),))
        for name, policy in POLICIES.items()
    ),
)
HOLD_SECONDS = 5.0  # as Timing.hold

MISSING = judge("UNKNOWN_TOPIC_OR_PART", "no such topic")
UNREACHABLE = judge("_TRANSPORT", "the broker is away")
BROKEN = Failure("X", "may pass", "wait", ErrorClass.TRANSIENT, Scope.RECORD, Action.PARK)
POISON = Failure("Y", "cannot pass", "repair it", ErrorClass.PERMANENT, Scope.RECORD, Action.PARK)


@dataclass(frozen=True)
class Event:
    """A row of the outbox; topic "nowhere" has no route."""

    topic: str
    key: str | None
    number: int
    due: str | None = None
    payload: str = "{}"

    @property
    def frame(self) -> bytes:
        key, due = (None if text is None else text.encode() for text in (self.key, self.due))
        return frames.insert(str(self.number).encode(), self.topic.encode(), key, b"T", self.payload.encode(), due)


@dataclass(frozen=True)
class Committed:
    end_lsn: int
    events: tuple[Event, ...]

    @property
    def commit_lsn(self) -> int:
        return self.end_lsn - 1

    def identity(self, ordinal: int) -> Identity:
        return "public.outbox", self.commit_lsn, ordinal, frames.EPOCH_US

    def frames(self, *, sent_us: int) -> Iterator[bytes]:
        yield frames.begin(self.commit_lsn, sent_us=sent_us)
        yield frames.relation(columns=COLUMNS)
        for event in self.events:
            yield event.frame
        yield frames.commit(self.end_lsn)


class Broker(FakeSink):
    """Remembers what it took, and gives sick topics' records back."""

    def __init__(self, clock: FakeClock, *, eager: bool) -> None:
        super().__init__(clock, eager=eager)
        self.accepted: list[Slip] = []
        self.on_accepted: Callable[[Slip], None] = lambda slip: None
        self.verdict = lambda record: self.sick_topics.get(record.topic) if self.eager else None

    def acknowledge(self, slip: Slip) -> None:
        super().acknowledge(slip)
        self.accepted.append(slip)
        self.on_accepted(slip)


class Rig:
    """`write` commits to the outbox, `turn` is one turn of the loop, `jobs` is the helper, `restart` a new session."""

    options = DispatchOptions(copies_dead=True)

    def __init__(self, *, records: int = 100, eager_jobs: bool = True, eager_sink: bool = False) -> None:
        self.clock = FakeClock()
        self.sink = Broker(self.clock, eager=eager_sink)
        self.jobs = FakeJobs(eager=eager_jobs)
        self.lot = FakeLot(lambda: self.clock.now, dead_letter_topic="dlq")
        self.stats = Stats()
        self.log: list[Committed] = []
        self.confirmed_lsn = 0
        self.repaired: str | None = None  # where rows without a route go by now
        self._records = records
        self._number = 0
        self.begin()

    # -- the outbox and its slot

    def write(self, *events: tuple[str, str | None], due_in: float | None = None, payload: str = "{}") -> Committed:
        due = None if due_in is None else self.time_text(due_in)
        rows = tuple(Event(topic, key, self._next_number(), due, payload) for topic, key in events)
        committed = Committed((len(self.log) + 1) * 100, rows)
        self.log.append(committed)
        return committed

    def time_text(self, seconds: float) -> str:
        moment = datetime.fromtimestamp(self.clock.now + seconds, UTC)
        return moment.strftime("%Y-%m-%d %H:%M:%S.%f+00")

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    def _next_frame(self) -> bytes | None:
        """From the confirmed position on, and what is committed later."""
        if not self._frames and self._place < len(self.log):
            self._frames.extend(self.log[self._place].frames(sent_us=int(self.clock.now * 1_000_000)))
            self._place += 1
        return self._frames.popleft() if self._frames else None

    # -- sessions

    def begin(self) -> None:
        self._begin_with(self.lot.take_over(self.confirmed_lsn))

    def _begin_with(self, inventory: Inventory) -> None:
        window = Window(record_limit=self._records, byte_limit=1 << 20)
        self.intake = Intake(Router([OUTBOX]), window, inventory.identities)
        self.dispatch = Dispatch(
            self.intake,
            self.sink,
            self.lot,
            submit=self.jobs.submit,
            inventory=inventory,
            route_again=self._route_again,
            stats=self.stats,
            options=self.options,
            now=self.clock.now,
        )
        self.dispatch.caution.is_on = False  # to read with care is the session's affair: see test_caution
        self.dispatch.feed._due._wall_clock = lambda: self.clock.now
        self.feed, self.outages = self.dispatch.feed, self.dispatch.outages
        self._settled_at = self.clock.now
        self._frames: deque[bytes] = deque()
        self._place = sum(committed.end_lsn <= self.confirmed_lsn for committed in self.log)

    def restart(self, *, died: bool = False, is_heard: bool = True) -> None:
        """The session ends where it is; `died`: with its process; `is_heard`: Postgres has the last confirmation."""
        if is_heard:
            self.confirmed_lsn = max(self.confirmed_lsn, self.intake.ledger.safe_lsn)
        self.sink.reset()
        self.jobs.run()  # what was handed in is done before the lot is taken over
        if died:
            self.lot.begin_process()
        self.begin()

    def _route_again(self, claim: Claim) -> Record | Unroutable:
        if self.repaired is None:
            return Unroutable(POISON, claim.columns or [], claim.policy)
        policy = POLICIES[self.repaired]
        return Record(self.repaired, b"k", b"{}", [], 0, claim.size_bytes, policy)

    # -- a turn of the loop, as Session._turn

    def turn(self, count: int = 1, *, reads: int = 500) -> None:
        for _ in range(count):
            now = self.clock.now
            self.dispatch.traffic.now = now
            self._gulp(reads)
            self.dispatch.returns.settle(self.sink.poll(0))
            may_claim = not (self._is_holding(now) and self.dispatch.is_waiting_for_broker)
            self.dispatch.tend(self.clock.now, may_claim=may_claim)
            self._settled_at = max(self._settled_at, self.dispatch.settled_at)
            if not self.intake.window.record_count:
                self._settled_at = now

    def _gulp(self, reads: int) -> None:
        if self.dispatch.is_paused:
            return
        for _ in range(reads):
            frame = None if self.intake.window.is_full else self._next_frame()
            if frame is None:
                return
            outcome = self.intake.take(frame)
            if outcome is None:
                continue
            routed, ticket = outcome
            if isinstance(routed, Record):
                self.dispatch.publisher.offer(routed, ticket)
            else:
                self.dispatch.entrance.set_aside(routed, ticket)

    def _is_holding(self, now: float) -> bool:
        return now - self._settled_at > HOLD_SECONDS

    def run(self, seconds: float, *, step: float = 0.05) -> None:
        deadline = self.clock.now + seconds
        while self.clock.now < deadline:
            self.turn()
            self.clock.now += step

    # -- the broker's answers

    def accept(self, *slips: Slip) -> None:
        """These, or all that are out."""
        for slip in slips or tuple(self.sink.open):
            self.sink.acknowledge(slip)
        self.turn()

    def reject(self, slip: Slip, failure: Failure) -> None:
        self.sink.reject(slip, failure)
        self.turn()

    # -- what is where

    def topics_out(self) -> list[str]:
        return [slip.topic for slip in self.sink.open]

    def out(self, topic: str = "") -> list[Slip]:
        return [slip for slip in self.sink.open if slip.topic == topic or not topic]

    def statuses(self) -> list[str]:
        return [f"{row.status} {row.reason}" for row in self.lot.rows.values()]

    def numbers(self) -> list[int]:
        """What was handed out so far, by the numbers of the events."""
        published = [record for record in self.sink.published if record.topic != "dlq"]
        return [int(dict(record.headers).get("id") or 0) for record in published]

    def row(self, committed: Committed, ordinal: int = 0) -> Row:
        row = self.lot.find(committed.identity(ordinal))
        assert row is not None
        return row
