"""Publisher, feed and outages together: whatever fails, whenever, nothing is lost, passed or left behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cdc_relay.delivery.failures import judge
from cdc_relay.dispatch import strict_keys
from cdc_relay.model import Action, ErrorClass, Identity, Ticket
from cdc_relay.parking.entry import Claim, Purpose, Reason, Status
from cdc_relay.sinks.sink import Slip
from tests.unit.dispatch_rig import MISSING, POLICIES, Event, Rig

TOPICS = st.sampled_from([*POLICIES, "strict", "hold", "strict"])
KEYS = st.sampled_from(["k", "k", "l"])
ANY_KEYS = st.one_of(KEYS, KEYS, KEYS, st.none())  # a strict route without a key is unroutable
ROWS = st.lists(st.tuples(st.one_of(TOPICS, TOPICS, TOPICS, st.just("nowhere")), ANY_KEYS), min_size=1, max_size=3)
CODES = st.sampled_from(
    [
        "_UNKNOWN_PARTITION",  # transient, of the record
        "TOPIC_EXCEPTION",  # permanent, of the record
        "MSG_SIZE_TOO_LARGE",  # of the batch
        "INVALID_RECORD",  # of the batch, permanent when alone
        "_INVALID_DIFFERENT_RECORD",  # of another one of the batch
        "UNKNOWN_TOPIC_OR_PART",
        "_TRANSPORT",
    ]
)
CALLS = st.sampled_from(["*", "park", "mark", "survey", "claim_due", "claim_topic", "claim_key"])
LANE_LIMIT = strict_keys._LANE_LIMIT
HEALING_TURNS = 500


class World(RuleBasedStateMachine):
    """`accepted_at`: when the broker first took each record."""

    def __init__(self) -> None:
        super().__init__()
        strict_keys._LANE_LIMIT = 2
        self.rig = Rig(records=12, eager_jobs=False)
        self.rig.sink.on_accepted = self.note_accepted
        self.accepted_at: dict[Identity, int] = {}
        self.condemned: set[Identity] = set()  # refused for good while they came from the stream
        self.edited: set[Identity] = set()
        self.is_prompt = True

    @initialize(is_prompt=st.booleans())
    def choose_helper(self, is_prompt: bool) -> None:
        self.is_prompt = is_prompt

    # -- the world outside

    @rule(rows=ROWS, reads=st.integers(1, 10))
    def write(self, rows: list[tuple[str, str]], reads: int) -> None:
        self.rig.write(*rows)
        self.turn(reads)

    @rule(topic=TOPICS, key=KEYS, due_in=st.sampled_from([0.05, 0.5, 3.0]))
    def write_scheduled(self, topic: str, key: str, due_in: float) -> None:
        self.rig.write((topic, key), due_in=due_in)
        self.turn(500)

    @precondition(lambda self: self.rig.sink.open and not self.rig.sink.away)
    @rule(count=st.integers(1, 4))
    def accept(self, count: int) -> None:
        for slip in self.rig.sink.open[:count]:
            self.answer(slip)
        self.turn(0)

    @precondition(lambda self: self.rig.sink.open)
    @rule(index=st.integers(0, 5), code=CODES, turns=st.booleans())
    def refuse(self, index: int, code: str, turns: bool) -> None:
        slip = self.rig.sink.open[index % len(self.rig.sink.open)]
        self.refuse_one(slip, code)
        if turns:
            self.turn(0)

    @rule(topic=TOPICS)
    def sicken(self, topic: str) -> None:
        self.rig.sink.sick_topics[topic] = MISSING

    @precondition(lambda self: self.rig.sink.sick_topics)
    @rule()
    def cure(self) -> None:
        self.rig.sink.sick_topics.clear()

    @rule(away=st.booleans())
    def strike(self, away: bool) -> None:
        self.rig.sink.away = "no broker" if away else ""

    @rule(call=CALLS)
    def lose_lot(self, call: str) -> None:
        self.rig.lot.away.add(call)

    @rule(call=st.sampled_from(["claim_due", "claim_topic", "claim_key"]))
    def lose_answer(self, call: str) -> None:
        self.rig.lot.lost.add(call)

    @precondition(lambda self: self.rig.lot.away)
    @rule()
    def find_lot(self) -> None:
        self.rig.lot.away.clear()

    @rule(room=st.sampled_from([0, 1, 1000]))
    def limit_lot(self, room: int) -> None:
        self.rig.lot.limit_records = len(self.rig.lot.live()) + room

    @rule(index=st.integers(0, 5), drops=st.booleans())
    def operate(self, index: int, drops: bool) -> None:
        rows = [row for row in self.rig.lot.live() if not row.is_claimed]
        if not rows:
            return
        row = rows[index % len(rows)]
        if drops:
            self.rig.lot.drop(row)
        elif row.status in (Status.DEAD, Status.RETRYING) and row.reason is not Reason.TOPIC_CLOSED:
            self.rig.lot.retry(row)
        self.turn(0)

    @rule(index=st.integers(0, 5), key=st.sampled_from([b"k", b"l", b"m"]))
    def edit(self, index: int, key: bytes) -> None:
        """As cdc-relay dlq edit: another key takes the record out of its old order."""
        rows = [row for row in self.rig.lot.live() if not row.is_claimed and row.record is not None]
        if not rows:
            return
        row = rows[index % len(rows)]
        assert row.record is not None
        row.record = row.record._replace(key=key)
        self.edited.add(row.identity)
        self.rig.lot.was_notified = True
        self.turn(0)

    @rule(index=st.integers(0, 5))
    def lock(self, index: int) -> None:
        rows = [row for row in self.rig.lot.live() if not row.is_claimed]
        if rows:
            rows[index % len(rows)].is_locked = True
        self.turn(0)

    # -- the process

    @rule(count=st.integers(1, 3), reads=st.integers(0, 10))
    def turn_on(self, count: int, reads: int) -> None:
        for _ in range(count):
            self.turn(reads)

    @rule(count=st.integers(1, 3))
    def help(self, count: int) -> None:
        self.rig.jobs.run(count)

    @rule()
    def help_in_the_middle(self) -> None:
        """The helper finishes what it has between two looks of the same turn."""
        tend = self.rig.outages.tend

        def finish(now: float) -> None:
            self.rig.jobs.run()
            tend(now)

        self.rig.outages.tend = finish  # type: ignore[method-assign]  # for this test
        self.turn(0)
        self.rig.outages.tend = tend  # type: ignore[method-assign]  # for this test

    @rule(seconds=st.sampled_from([0.05, 0.3, 1.1, 2.5, 11.0, 31.0]))
    def wait(self, seconds: float) -> None:
        self.rig.clock.now += seconds
        self.turn(0)
        self.turn(0)

    @rule(died=st.booleans(), is_heard=st.booleans())
    def restart(self, died: bool, is_heard: bool) -> None:
        if "*" in self.rig.lot.away:
            return
        self.rig.restart(died=died, is_heard=is_heard)

    # -- what holds at all times

    @invariant()
    def nothing_is_confirmed_that_is_neither_delivered_nor_parked(self) -> None:
        safe_lsn = max(self.rig.intake.ledger.safe_lsn, self.rig.confirmed_lsn)
        parked = {row.identity for row in self.rig.lot.rows.values()}
        for identity, _ in self.events(up_to_lsn=safe_lsn):
            assert identity in self.accepted_at or identity in parked

    @invariant()
    def no_identity_is_in_the_lot_twice(self) -> None:
        identities = [row.identity for row in self.rig.lot.rows.values()]
        assert len(identities) == len(set(identities))

    @invariant()
    def window_and_ledger_add_up(self) -> None:
        claims, intake = self.rig.dispatch.claims, self.rig.intake
        in_stream = sum(transaction.open_count for transaction in intake.ledger._queue)
        concluded = len(claims.marks._batch) + len(claims.marks._gathered)
        assert intake.window.record_count == in_stream + len(claims.open_ids) - concluded

    @invariant()
    def one_of_a_strict_key_is_out(self) -> None:
        lanes = self.rig.dispatch.lanes
        assert len(set(lanes.out.values())) == len(lanes.out)
        assert set(lanes.out.values()) <= set(lanes.by_scope)
        assert lanes.waiting_count == sum(len(waiting) for waiting in lanes.by_scope.values())

    def teardown(self) -> None:
        try:
            self.heal()
        finally:
            strict_keys._LANE_LIMIT = LANE_LIMIT

    # -- inside

    def turn(self, reads: int) -> None:
        if self.is_prompt:
            self.rig.jobs.run()
        self.rig.turn(reads=reads)
        assert Counter(self.rig.topics_out()) == self.rig.dispatch.traffic.out

    def answer(self, slip: Slip) -> None:
        if slip.topic in self.rig.sink.sick_topics:
            self.refuse_one(slip, "UNKNOWN_TOPIC_OR_PART")
        else:
            self.rig.sink.acknowledge(slip)

    def refuse_one(self, slip: Slip, code: str) -> None:
        _, is_alone = self.rig.sink._records[id(slip)]
        failure = judge(code, "refused", was_alone=is_alone)
        if failure.action is Action.PARK and failure.error_class is ErrorClass.PERMANENT and isinstance(slip, Ticket):
            self.condemned.add(slip.identity)
        self.rig.sink.reject(slip, failure)

    def note_accepted(self, slip: Slip) -> None:
        if isinstance(slip, Claim) and slip.purpose is Purpose.COPY:
            return
        if slip.identity not in self.accepted_at:
            self.accepted_at[slip.identity] = len(self.accepted_at)
            self.check_order(slip.identity)

    def check_order(self, identity: Identity) -> None:
        """None of its key may have gone before it that came after it, unless it had given up meanwhile."""
        events = dict(self.events())
        event = events[identity]
        if not is_ordered(event) or self.has_given_up(identity):
            return
        for other, later in events.items():
            if is_ordered(later) and other not in self.edited and (later.topic, later.key) == (event.topic, event.key):
                assert other[1:3] <= identity[1:3] or other not in self.accepted_at, f"{later} went before {event}"

    def has_given_up(self, identity: Identity) -> bool:
        if identity in self.condemned | self.edited:
            return True
        row = self.rig.lot.find(identity)
        return row is not None and (row.was_dead or row.status is Status.DISCARDED)

    def events(self, up_to_lsn: int | None = None) -> Iterator[tuple[Identity, Event]]:
        for committed in self.rig.log:
            if up_to_lsn is None or committed.end_lsn <= up_to_lsn:
                for ordinal, event in enumerate(committed.events):
                    yield committed.identity(ordinal), event

    # -- everything works again

    def heal(self) -> None:
        rig = self.rig
        rig.lot.away.clear()
        rig.lot.lost.clear()
        for row in rig.lot.rows.values():
            row.is_locked = False
        rig.lot.limit_records = max(rig.lot.limit_records, self.count_the_lost() + 1)
        rig.sink.away, rig.repaired = "", "calm"
        rig.sink.sick_topics.clear()
        for number in range(HEALING_TURNS):
            if number % 20 == 0:
                self.release_the_dead()
            rig.jobs.run()
            for slip in list(rig.sink.open):
                rig.sink.acknowledge(slip)
            rig.turn()
            rig.clock.now += 0.3
            if number > 50 and not self.complaints():
                return
        assert not self.complaints()

    def count_the_lost(self) -> int:
        """What nobody but an operator takes out of the lot, now or later."""
        dead = {row.identity for row in self.rig.lot.live() if row.status is Status.DEAD}
        return len(dead | {identity for identity, event in self.events() if is_unroutable(event)})

    def release_the_dead(self) -> None:
        for row in self.rig.lot.live():
            if row.status is Status.DEAD and row.policy.hold_dead and not row.is_claimed:
                self.rig.lot.retry(row)

    def complaints(self) -> list[str]:
        rig, found = self.rig, []
        final = {row.identity for row in rig.lot.rows.values() if row.status in (Status.DEAD, Status.DISCARDED)}
        final |= {row.identity for row in rig.lot.rows.values() if row.status is Status.CANCELLED}
        found += [
            f"{event} is nowhere"
            for identity, event in self.events()
            if identity not in self.accepted_at | dict.fromkeys(final, 0)
        ]
        lanes = rig.dispatch.lanes
        found += [f"{scope} is still out" for scope in (*lanes.out.values(), *lanes.by_scope)]
        found += [f"{row} is left" for row in rig.lot.live() if row.status is not Status.DEAD]
        found += [f"{row} is claimed" for row in rig.lot.live() if row.is_claimed]
        found += [f"{row} has no copy" for row in rig.lot.live() if row.status is Status.DEAD and not row.is_copied]
        found += [f"{scope} is shut" for scope in rig.dispatch.entrance.gates]
        found += [f"{name} is closed" for name in rig.outages.closed]
        found += [f"{count} in the window"] if (count := rig.intake.window.record_count) else []
        found += ["busy"] if not rig.dispatch.is_idle or rig.dispatch.is_paused else []
        if rig.log and max(rig.intake.ledger.safe_lsn, rig.confirmed_lsn) != rig.log[-1].end_lsn:
            found.append(f"confirmed {rig.intake.ledger.safe_lsn} of {rig.log[-1].end_lsn}")
        return found


def is_ordered(event: Event) -> bool:
    return event.topic in POLICIES and POLICIES[event.topic].strict and event.due is None


def is_unroutable(event: Event) -> bool:
    return event.topic not in POLICIES or (POLICIES[event.topic].strict and event.key is None)


TestWorld = World.TestCase
TestWorld.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
