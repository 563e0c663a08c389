"""A record's way out to the sink, and what each verdict means for it, for its key and its neighbours.

The table of failures decides; this carries it out. What cannot go out now goes to the entrance of the lot; what came
from the lot is written down there again, with what became of it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from typing import assert_never

import structlog

from cdc_relay.delivery.backoff import delay_seconds
from cdc_relay.delivery.gates import Gate, Lanes
from cdc_relay.delivery.intake import Intake
from cdc_relay.dispatch.culprits import Culprits, find_largest
from cdc_relay.dispatch.entrance import Entrance, log_death
from cdc_relay.errand import Errand
from cdc_relay.errors import SinkError
from cdc_relay.model import DROPPED, Action, Dropped, ErrorClass, Failure, Record, Ticket, Unroutable
from cdc_relay.parking.entry import Claim, KeyScope, Mark, Outcome, Purpose, Reason, Status
from cdc_relay.sinks.sink import Reject, Reports, Sink, Slip, TopicLimits
from cdc_relay.stats import Stats

__all__ = ["Publisher", "RouteAgain"]

log = structlog.get_logger()

RouteAgain = Callable[[Claim], Record | Unroutable | Dropped]

_RESEND_SECONDS = 1.0  # between two tries of a record that the cluster, not the record, kept from being published
_COPY_SECONDS = 30.0  # between two tries of a copy for the dead-letter topic
_CLOSED_SECONDS = 5.0  # until a parked record is looked at again whose topic turned out to be closed
_PAUSE_SECONDS = 5.0  # without any acknowledgement: the cluster was away
_LANE_LIMIT = 1_000  # records of one strict key that wait in memory; the rest waits in the lot, so that others pass


class Publisher:
    def __init__(
        self,
        intake: Intake,
        sink: Sink,
        entrance: Entrance,
        *,
        mark: Callable[[list[Mark]], Future[None]],
        route_again: RouteAgain,
        stats: Stats,
    ) -> None:
        self._intake = intake
        self._sink = sink
        self._publish = sink.publish
        self._entrance = entrance
        self._route_again = route_again
        self._stats = stats
        self.marks: Errand[Mark] = Errand("mark", write=mark, on_written=self._on_marked)
        self.lanes: Lanes[tuple[Record, Slip]] = Lanes()
        self.now = 0.0
        self.delivered_at = 0.0  # when the broker last acknowledged anything
        self.flowing_since = 0.0  # since when it does so without a long pause
        self.out: dict[str, int] = {}  # by topic: records that the sink has
        self.moved_at: dict[str, float] = {}  # by topic: when something of it was last acknowledged, or began to be out
        self.claimed: set[int] = set()  # ids of parked records that are out, or not yet written down again
        self.new_topics: list[str] = []  # whose limits are to be asked for
        self._asked: set[str] = set()
        self._culprits = Culprits()
        self._detours: set[str] = set()  # topics that are closed, or of which some records travel alone
        self._scopes: dict[tuple[int, int], KeyScope] = {}  # strict records that are out, by their position
        self._in_lane: set[int] = set()  # claims for which the rest of their key waits
        self._held: list[tuple[Record, Slip]] = []
        self._held_until = 0.0
        self.close_topic: Callable[[str, Failure], None] = lambda topic, failure: None
        self.on_lane_free: Callable[[KeyScope], None] = lambda scope: None
        self.on_marked: Callable[[Mark], None] = lambda mark: None

    @property
    def is_idle(self) -> bool:
        """Nothing is on its way to or from the lot."""
        return self._entrance.parks.is_idle and self.marks.is_idle and not self.claimed

    def tend(self, now: float) -> None:
        self.now = now
        if self._held and now >= self._held_until:
            held, self._held = self._held, []
            for record, slip in sorted(held, key=lambda each: each[1].position):
                self._send_again(record, slip)
        self.marks.tend(now)

    # -- what the stream brings

    def offer(self, record: Record, ticket: Ticket) -> None:
        topic, culprits = record.topic, self._culprits
        if ticket.policy.strict or topic in self._detours or record.size_bytes >= culprits.least_bytes:
            self._detour(record, ticket)
            return
        if record.key is None and culprits.wants_keys:
            self._detour(record, ticket)
            return
        out = self.out
        count = out.get(topic, 0)
        if not count:
            self._first_out(topic)
        out[topic] = count + 1
        self._publish(record, ticket)

    def _detour(self, record: Record, ticket: Ticket) -> None:
        if record.topic in self._entrance.shelves:
            self._entrance.shelve(record, ticket)
        elif not ticket.policy.strict:
            self._hand_out(record, ticket)
        else:
            self._offer_strict(record, ticket)

    def _offer_strict(self, record: Record, ticket: Ticket) -> None:
        scope = record.topic, record.key
        if scope in self._entrance.gates or self.lanes.count_waiting(scope) >= _LANE_LIMIT:
            self._entrance.put_behind(record, ticket)
        elif self.lanes.enter(scope, (record, ticket)):
            self._hand_out(record, ticket)

    # -- what the lot brings

    def offer_claim(self, claim: Claim) -> None:
        self._begin_claim(claim)
        record = claim.record or self._route_again(claim)
        if record is DROPPED:
            self._conclude_claim(claim, Outcome.DROPPED)
            return
        if isinstance(record, Unroutable):
            self._fail_claim(claim, record.failure)
            return
        claim = claim._replace(topic=record.topic, headers=record.headers, policy=record.policy, record=record)
        if record.topic in self._entrance.shelves and claim.reason is not Reason.TOPIC_CLOSED:
            self._conclude_claim(claim, Outcome.RELEASED, retry_seconds=_CLOSED_SECONDS)
        elif not _keeps_order(claim):
            self._hand_out(record, claim)
        elif self.lanes.enter((record.topic, record.key), (record, claim)):
            self._in_lane.add(claim.id)
            self._hand_out(record, claim)

    def decline_claim(self, claim: Claim) -> None:
        """It was claimed and cannot go out now."""
        self._begin_claim(claim)
        self._release(claim)

    def condemn(self, claim: Claim, failure: Failure) -> None:
        """It is dead without being tried again."""
        self._begin_claim(claim)
        self._fail_claim(claim, failure)

    def _begin_claim(self, claim: Claim) -> None:
        self.claimed.add(claim.id)
        self._intake.window.take(claim.size_bytes)

    def _release(self, claim: Claim) -> None:
        """Not tried, or not its own fault: not an attempt."""
        self._conclude_claim(claim, Outcome.RELEASED)

    def _conclude_claim(
        self, claim: Claim, outcome: Outcome, *, failure: Failure | None = None, retry_seconds: float | None = None
    ) -> None:
        self._intake.window.release(claim.size_bytes)
        routed = claim.record if claim.columns is not None and outcome is Outcome.PUBLISHED else None
        self.marks.add(Mark(claim, outcome, failure, retry_seconds, routed))

    def _on_marked(self, marks: list[Mark]) -> None:
        for mark in marks:
            claim = mark.claim
            self.claimed.discard(claim.id)
            if mark.outcome is Outcome.PUBLISHED:
                self._stats.republished_count += 1
            if _is_over(mark) and claim.record is not None and _keeps_order(claim):
                self._follow(claim, (claim.topic, claim.record.key))
            self._in_lane.discard(claim.id)
            self.on_marked(mark)

    def _follow(self, claim: Claim, scope: KeyScope) -> None:
        if claim.id in self._in_lane:
            self._advance(scope)
        elif scope in self._entrance.gates and scope not in self.lanes:
            self.on_lane_free(scope)

    # -- out and back

    def _first_out(self, topic: str) -> None:
        self.moved_at[topic] = self.now
        if topic not in self._asked:
            self._asked.add(topic)
            self.new_topics.append(topic)

    def learn(self, limits: dict[str, TopicLimits]) -> None:
        self._asked.update(limits)
        for topic, each in limits.items():
            self._culprits.learn(topic, each)

    def _hand_out(self, record: Record, slip: Slip, *, alone: bool = False) -> None:
        topic = record.topic
        if topic not in self.out:
            self._first_out(topic)
        self.out[topic] = self.out.get(topic, 0) + 1
        if _keeps_order(slip):
            self._scopes[slip.position] = topic, record.key
        if alone or self._culprits.sets_apart(record, slip):
            self._sink.publish_alone(record, slip)
        else:
            self._publish(record, slip)

    def settle(self, reports: Reports) -> None:
        delivered, failed = reports
        if delivered or failed:
            topics = [slip.topic for slip in delivered] + [reject.record.topic for reject in failed]
            for topic, count in Counter(topics).items():
                self._return(topic, count)
            self._conclude(reports)

    def take_back(self) -> None:
        """Empty the sink: what was out for a closed topic goes into the lot, the rest out again, in order."""
        emptied = self._sink.empty()
        self.out.clear()
        self.moved_at.clear()
        self._conclude(emptied.reports)
        for slip, record in sorted(emptied.purged, key=lambda each: each[0].position):
            if record.topic in self._entrance.shelves:
                self._shelve(record, slip)
            else:
                self._hand_out(record, slip)

    def _return(self, topic: str, count: int) -> None:
        left = self.out.get(topic, 0) - count
        if left > 0:
            self.out[topic] = left
            self.moved_at[topic] = self.now
        else:
            self.out.pop(topic, None)
            self.moved_at.pop(topic, None)

    def _conclude(self, reports: Reports) -> None:
        if reports.delivered:
            self._settle_delivered(reports.delivered)
        if reports.failed:
            largest = find_largest(reports.failed)
            for reject in reports.failed:
                self._judge(reject, largest)

    def _settle_delivered(self, delivered: list[Slip]) -> None:
        size_bytes = 0
        if self.claimed or self._scopes or self._culprits:
            for slip in delivered:
                size_bytes += slip.size_bytes
                self._on_delivered(slip)
        else:
            settle = self._intake.settle
            for ticket in delivered:
                size_bytes += ticket.size_bytes
                settle(ticket)  # type: ignore[arg-type]  # no claim is out
        self._stats.published_count += len(delivered)
        self._stats.published_bytes += size_bytes
        if self.now - self.delivered_at > _PAUSE_SECONDS:
            self.flowing_since = self.now
        self.delivered_at = self.now

    def _on_delivered(self, slip: Slip) -> None:
        self._culprits.acquit(slip)
        self._note_detour(slip.topic)
        scope = self._scopes.pop(slip.position, None)
        if isinstance(slip, Claim):
            self._conclude_claim(slip, Outcome.COPIED if slip.purpose is Purpose.COPY else Outcome.PUBLISHED)
            return
        self._intake.settle(slip)
        if scope is not None:
            self._advance(scope)

    def _advance(self, scope: KeyScope) -> None:
        item = self.lanes.advance(scope)
        if item is not None:
            if isinstance(item[1], Claim):
                self._in_lane.add(item[1].id)
            self._send_again(*item)
        elif scope in self._entrance.gates:
            self.on_lane_free(scope)

    def _note_detour(self, topic: str) -> None:
        if topic in self._entrance.shelves or self._culprits.knows(topic):
            self._detours.add(topic)
        else:
            self._detours.discard(topic)

    # -- verdicts

    def _judge(self, reject: Reject, largest: dict[str, int]) -> None:
        slip, record, failure, was_alone = reject
        self._scopes.pop(slip.position, None)
        if isinstance(slip, Claim) and slip.purpose is Purpose.COPY:
            self._judge_copy(slip, reject)
            return
        match failure.action:
            case Action.PARK:
                self._fail(record, slip, failure)
            case Action.RESEND:
                self._send_again(record, slip)
            case Action.RESEND_ALONE if was_alone:
                self._fail(record, slip, failure)
            case Action.RESEND_ALONE:
                self._send_again(record, slip, alone=self._culprits.suspect(reject, largest))
            case Action.CLOSE_TOPIC:
                self.close_topic(record.topic, failure)
                self._shelve(record, slip)
            case Action.HOLD:
                self._hold(record, slip)
            case Action.REBUILD:
                raise SinkError(f"the Kafka producer broke: {failure.reason}")
            case _:
                assert_never(failure.action)

    def _judge_copy(self, claim: Claim, reject: Reject) -> None:
        """It closes no topic and is never given up: the record's own fate is decided already."""
        failure = reject.failure
        if failure.action is Action.RESEND_ALONE and not reject.was_alone:
            self._hand_out(reject.record, claim, alone=True)
            return
        self._conclude_claim(claim, Outcome.COPY_FAILED, failure=failure, retry_seconds=_COPY_SECONDS)
        log.warning("copy_failed", topic=reject.record.topic, record=str(claim), reason=failure.reason)

    def _send_again(self, record: Record, slip: Slip, *, alone: bool = False) -> None:
        if record.topic in self._entrance.shelves and not isinstance(slip, Claim):
            self._shelve(record, slip)
        else:
            self._hand_out(record, slip, alone=alone)

    def _hold(self, record: Record, slip: Slip) -> None:
        if record.topic in self._entrance.shelves:
            self._shelve(record, slip)
            return
        if not self._held:
            self._held_until = self.now + _RESEND_SECONDS
        self._held.append((record, slip))

    def _fail(self, record: Record, slip: Slip, failure: Failure) -> None:
        self._culprits.convict(record, slip, failure)
        self._note_detour(record.topic)
        if isinstance(slip, Claim):
            self._fail_claim(slip, failure)
            return
        status = self._entrance.take_failed(record, slip, failure)
        if slip.policy.strict:
            holds = status is Status.RETRYING or slip.policy.hold_dead
            self._after_failure((record.topic, record.key), holds=holds)

    def _fail_claim(self, claim: Claim, failure: Failure) -> None:
        retry_count = claim.attempts if claim.reason is Reason.FAILURE else 0  # else it was the record's first try
        is_dead = failure.error_class is not ErrorClass.TRANSIENT or retry_count >= claim.max_attempts
        retry_seconds = None if is_dead else delay_seconds(claim.policy.retry, retry_count, random.random)
        self._conclude_claim(claim, Outcome.FAILED, failure=failure, retry_seconds=retry_seconds)
        if is_dead:
            log_death(str(claim), claim.topic, failure)
            self._stats.dead_count += 1
        if claim.record is not None and _keeps_order(claim) and (not is_dead or claim.policy.hold_dead):
            self._after_failure((claim.topic, claim.record.key), holds=True)

    def _after_failure(self, scope: KeyScope, *, holds: bool) -> None:
        """Strict: what waited for the failed record goes behind it into the lot, or on, if it need not wait."""
        if not holds:
            self._advance(scope)
            return
        gate = self._entrance.gates.shut(scope)
        for record, slip in self.lanes.clear(scope):
            if isinstance(slip, Claim):
                self._release(slip)
            else:
                self._entrance.put_behind(record, slip, is_urgent=True)
        gate.claim_after = self._entrance.parks.added_count

    # -- closed topics

    def shut_topic(self, topic: str, failure: Failure) -> Gate:
        shelf = self._entrance.shelves.setdefault(topic, Gate())
        self._entrance.shelf_failures[topic] = failure
        self._detours.add(topic)
        returned = self.lanes.withdraw(topic)
        held, self._held = self._held, []
        for record, slip in held:
            if record.topic == topic:
                self._shelve(record, slip)
            else:
                self._held.append((record, slip))
        self._shelve_all(topic, returned)
        return shelf

    def open_topic(self, topic: str) -> None:
        self._entrance.shelves.pop(topic, None)
        self._entrance.shelf_failures.pop(topic, None)
        self._note_detour(topic)

    def _shelve(self, record: Record, slip: Slip) -> None:
        """One that was out, and with it what waits for it."""
        self._culprits.forget(slip)
        self._scopes.pop(slip.position, None)
        waiting = self.lanes.clear((record.topic, record.key)) if _keeps_order(slip) else []
        self._shelve_all(record.topic, [(record, slip), *waiting])

    def _shelve_all(self, topic: str, returned: list[tuple[Record, Slip]]) -> None:
        """They may be older than what the lot has of this topic: nothing of it goes out before they are written."""
        parks = self._entrance.parks
        added_count = parks.added_count
        for record, slip in returned:
            if isinstance(slip, Claim):
                self._release(slip)
            else:
                self._entrance.shelve(record, slip, is_urgent=True)
        if parks.added_count > added_count:
            self._entrance.shelves[topic].claim_after = parks.added_count


def _keeps_order(slip: Slip) -> bool:
    if isinstance(slip, Claim):
        return slip.policy.strict and not slip.is_scheduled and slip.purpose is Purpose.PUBLISH
    return slip.policy.strict


def _is_over(mark: Mark) -> bool:
    """Nobody of its key waits for this record any more."""
    is_dead = mark.outcome is Outcome.FAILED and mark.retry_seconds is None
    return mark.outcome in (Outcome.PUBLISHED, Outcome.DROPPED) or (is_dead and not mark.claim.policy.hold_dead)
