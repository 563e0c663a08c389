"""From the lot back to the sink: what is due by time, what waited for its topic, what waited behind its key.

Each of these is a track: it claims a batch, hands it to the publisher, and claims again when all of it is written down.
The lot is asked on the helper thread; while it does not answer nothing is claimed and nothing is lost.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import structlog

from cdc_relay.delivery.gates import Gate, Lanes
from cdc_relay.delivery.intake import Intake
from cdc_relay.dispatch.caution import Quarantine
from cdc_relay.dispatch.detours import Parcel
from cdc_relay.dispatch.entrance import Entrance
from cdc_relay.dispatch.outages import ClosedTopic, Outages, Phase
from cdc_relay.dispatch.republisher import Republisher
from cdc_relay.dispatch.traffic import Traffic
from cdc_relay.errors import AwayError
from cdc_relay.parking.entry import Claim, Entry, KeyScope, Mark, Outcome, Status, Survey
from cdc_relay.parking.lot import Lot
from cdc_relay.stats import Stats

__all__ = ["Feed"]

log = structlog.get_logger()

Job = Callable[[], list[Claim]]

_BATCH = 200
_KEY_BATCH = 50
_KEY_COUNT = 4  # keys that the lot is asked for at the same time: what they give is beyond the window
_SURVEY_SECONDS = 10.0  # also finds what was changed by hand without a notification
_RETRY_SECONDS = 1.0
_LOCKED_SECONDS = 0.3
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.02, 1.0  # after a claim of what should have been due and was not
_STUCK_SECONDS, _STUCK_COUNT = 1.0, 1_000
_MARGIN_SECONDS = 0.005  # Postgres' clock decides what is due: be a moment late rather than ask twice


@dataclass(slots=True, eq=False)
class _Track:
    """One source of claims. `out` are claimed and not yet written down again."""

    make_job: Callable[[], Job]  # on the loop's thread: the helper gets what it needs, and touches nothing of ours
    scope: KeyScope | None = None
    topic: ClosedTopic | None = None
    future: Future[list[Claim]] | None = None
    out: int = 0
    was_clear: bool = False  # nothing was on its way into the lot when the claim was asked for
    ask_at: float = 0.0

    @property
    def is_busy(self) -> bool:
        return self.future is not None or self.out > 0


class Feed:
    def __init__(
        self,
        republisher: Republisher,
        traffic: Traffic,
        lanes: Lanes[Parcel],
        entrance: Entrance,
        quarantine: Quarantine,
        intake: Intake,
        *,
        lot: Lot,
        submit: Callable[[Callable[[], Any]], Future[Any]],
        stats: Stats,
        copies_dead: bool = False,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.trouble = ""
        self.due_at: float | None = None  # on the loop's clock
        self.outages: Outages | None = None  # set by dispatch: the two know each other
        self._republisher = republisher
        self._traffic = traffic
        self._lanes = lanes
        self._entrance = entrance
        self._quarantine = quarantine
        self._intake = intake
        self._lot = lot
        self._submit = submit
        self._stats = stats
        self._copies_dead = copies_dead
        self._wall_clock = wall_clock
        self._due = _Track(self._due_job)
        self._claimed_at = 0.0
        self._answered: list[_Track] = []
        self._topics: dict[str, _Track] = {}
        self._keys: dict[KeyScope, _Track] = {}
        self._by_claim: dict[int, _Track] = {}
        self._surveying: Future[Survey] | None = None
        self._survey_at = 0.0
        self._finished_at: dict[KeyScope, float] = {}  # when a key last had nothing to give
        self.is_leaving = False  # what is claimed now is given back
        self._finishing: set[KeyScope] = set()  # keys whose gate may open, if a survey finds nothing of them
        self._surveyed: set[KeyScope] = set()  # those of them that the survey under way is about
        self._pause_seconds = _FIRST_PAUSE_SECONDS
        self._not_before = 0.0
        self._retry_at = 0.0

    # -- what others tell

    def adopt(self, survey: Survey, now: float) -> None:
        """What the lot had when this session began."""
        for scope in survey.heads:
            self._entrance.gates.shut(scope)
        self._take_survey(survey, now)

    def drain(self, topic: ClosedTopic) -> None:
        """A track that is still busy with the topic's last opening goes on with this one."""
        track = self._topics.setdefault(topic.name, _Track(lambda: self._topic_job(topic)))
        track.topic = topic

    def follow(self, scope: KeyScope) -> None:
        """The key's record that was out is settled: the next of the key, from the lot."""
        if scope not in self._keys:
            # A row that somebody has locked looks like none: do not ask for it without a pause.
            ask_at = self._finished_at.pop(scope, -_LOCKED_SECONDS) + _LOCKED_SECONDS
            job = partial(self._lot.claim_key, *scope, limit=_KEY_BATCH)
            self._keys[scope] = _Track(lambda: job, scope, ask_at=ask_at)

    def expect(self, entry: Entry) -> None:
        """Something was parked that is due at some time, or dead and to be copied."""
        if entry.status is Status.DEAD and not self._copies_dead:
            return
        seconds = entry.retry_seconds or 0.0
        if entry.scheduled_at is not None:
            seconds = _read_time(entry.scheduled_at) - self._wall_clock()
        self._expect_at(self._traffic.now + max(0.0, seconds) + _MARGIN_SECONDS)

    def on_marked(self, mark: Mark) -> None:
        is_dead = mark.outcome is Outcome.FAILED and mark.retry_seconds is None
        if mark.retry_seconds is not None or (is_dead and self._copies_dead):
            self._expect_at(self._traffic.now + (mark.retry_seconds or 0.0) + _MARGIN_SECONDS)
        track = self._by_claim.pop(mark.claim.id, None)
        if track is None:
            return
        track.out -= 1
        if track.topic is not None:
            track.topic.drained_count += 1
            track.topic.is_trial = track.topic.phase is not Phase.DRAINING or mark.outcome is not Outcome.PUBLISHED

    @property
    def is_finishing(self) -> bool:
        """While the lot is asked whether a door can be opened, nobody may come to it."""
        if self._finishing or self._surveyed:
            return True
        is_in_order = self._is_in_order()  # else nothing is taken out, and pausing would not help
        topics = (track.topic for track in self._topics.values())
        return any(
            topic is not None and (topic.gate.is_finishing or (topic.is_pressed and is_in_order)) for topic in topics
        )

    # -- the clock

    def look(self) -> None:
        """Before the marks are tended: what was claimed after a mark must not be seen before it."""
        tracks = [self._due, *self._topics.values(), *self._keys.values()]
        self._answered = [track for track in tracks if track.future is not None and track.future.done()]

    def tend(self, now: float, *, may_claim: bool) -> None:
        if self._lot.was_notified:
            self._lot.was_notified = False
            self._survey_at, self.due_at = 0.0, now
        for track in self._answered:
            self._take_claims(track, now)
        self._answered = []
        if may_claim and now >= self._retry_at and self._is_in_order():
            self._tend_due(now)
            self._tend_topics()
            self._tend_keys()
        self._tend_survey(now)

    def _is_in_order(self) -> bool:
        """What the lot has may be newer than what the slot delivers again: nothing is taken out before that is seen."""
        is_written = self._entrance.parks.written_count >= self._entrance.claim_after
        return self._intake.has_passed_parked and is_written

    def _tend_due(self, now: float) -> None:
        track = self._due
        if self.due_at is None or now < self.due_at or track.future is not None:
            return
        # One batch at a time, but a record that gets no answer must not keep the others waiting.
        if not track.out or (now - self._claimed_at > _STUCK_SECONDS and track.out < _STUCK_COUNT):
            self.due_at, self._claimed_at = None, now
            self._ask(track)

    def _tend_topics(self) -> None:
        for name, track in list(self._topics.items()):
            topic = track.topic
            if track.is_busy or topic is None:
                continue
            if topic.phase is not Phase.DRAINING:
                del self._topics[name]  # it was closed again; the next probe starts anew
            elif self._may_ask(topic.gate) and not (topic.gate.is_finishing and topic.gate.entering):
                self._ask(track, gate=topic.gate)

    def _tend_keys(self) -> None:
        asked_count = sum(track.future is not None for track in self._keys.values())
        for scope, track in list(self._keys.items()):
            if asked_count >= _KEY_COUNT or (self._intake.window.is_full and self._traffic.out):
                return
            gate = self._entrance.gates.get(scope)
            if track.is_busy or scope in self._lanes or self._traffic.now < track.ask_at:
                continue
            if gate is None or scope[0] in self._entrance.shelves:
                del self._keys[scope]  # followed again when the topic is open
            elif self._may_ask(gate) and not gate.is_finishing:
                self._ask(track, gate=gate)
                asked_count += 1
                self._keys[scope] = self._keys.pop(scope)  # the others first, the next time

    def _may_ask(self, gate: Gate) -> bool:
        return self._entrance.parks.written_count >= gate.claim_after

    def _ask(self, track: _Track, *, gate: Gate | None = None) -> None:
        track.was_clear = gate is None or not gate.entering
        track.future = self._submit(track.make_job())

    # -- claims

    def _due_job(self) -> Job:
        closed = self.outages.names if self.outages is not None else frozenset()
        return partial(self._lot.claim_due, closed_topics=closed, limit=_BATCH)

    def _topic_job(self, topic: ClosedTopic) -> Job:
        return partial(self._lot.claim_topic, topic.name, limit=1 if topic.is_trial else _BATCH)

    def _take_claims(self, track: _Track, now: float) -> None:
        future, track.future = track.future, None
        assert future is not None
        try:
            claims = future.result()
        except AwayError as exc:
            self._give_way(track, exc, now)
            return
        self.trouble = ""
        for claim in claims:
            self._by_claim[claim.id] = track
            track.out += 1
        self._offer(claims)
        if track is self._due:
            self._after_due(bool(claims), now)
        elif track.topic is not None:
            self._after_topic(track.topic, bool(claims), was_clear=track.was_clear)
        elif track.scope is not None and not claims:
            self._finish_key(track.scope)

    def _offer(self, claims: list[Claim]) -> None:
        suspected: set[KeyScope] = set()  # nobody of a strict key passes one that is in quarantine
        for claim in claims:
            scope = claim.topic, claim.record.key if claim.record is not None else None
            if self.is_leaving or (claim.policy.strict and scope in suspected):
                self._republisher.decline(claim)
            elif self._quarantine.wants(claim):
                suspected.add(scope)
                self._quarantine.add(claim)
            else:
                self._republisher.offer(claim)

    def _give_way(self, track: _Track, exc: AwayError, now: float) -> None:
        """The lot does not answer: read on, and ask again in a moment."""
        self._note_trouble(exc, now)
        if track.topic is not None:
            track.topic.gate.is_finishing = False
        if track is self._due:
            self.due_at = now

    def _after_due(self, found: bool, now: float) -> None:
        """The survey tells when the next is due. What is due by its time and not given waits for something else."""
        self._survey_at = 0.0
        if found:
            self._pause_seconds = _FIRST_PAUSE_SECONDS
        else:
            self._not_before = now + self._pause_seconds
            self._pause_seconds = min(self._pause_seconds * 2, _LONGEST_PAUSE_SECONDS)

    def _expect_at(self, due_at: float) -> None:
        self.due_at = due_at if self.due_at is None else min(self.due_at, due_at)

    def _after_topic(self, topic: ClosedTopic, found: bool, *, was_clear: bool) -> None:
        assert self.outages is not None
        if found:
            return  # a trial is over when its record is written down as published: see on_marked
        if was_clear and not topic.gate.entering and topic.gate.is_finishing:
            topic.gate.is_finishing = False
            del self._topics[topic.name]
            self.outages.open(topic)
            self._follow_topic(topic.name)
        else:
            topic.gate.is_finishing = True

    def _follow_topic(self, topic: str) -> None:
        self._expect_at(self._traffic.now)  # a retry may have been due while it was closed
        for scope in self._entrance.gates:
            if scope[0] == topic and scope not in self._lanes:
                self._finish(scope)

    # -- gates

    def _finish_key(self, scope: KeyScope) -> None:
        """Nothing of the key can be published now: either the lot has none of it left, or its oldest has to wait."""
        del self._keys[scope]
        self._finished_at[scope] = self._traffic.now
        self._finish(scope)

    def _finish(self, scope: KeyScope) -> None:
        """Let the next survey tell whether the key's gate can be opened."""
        gate = self._entrance.gates.get(scope)
        if gate is not None:
            gate.is_finishing = True
            self._finishing.add(scope)
            self._survey_at = 0.0

    def _tend_survey(self, now: float) -> None:
        if self._surveying is None:
            if now >= max(self._survey_at, self._retry_at) and not self._are_entering():
                self._surveyed, self._finishing = self._finishing, set()
                self._surveying = self._submit(self._lot.survey)
                self._survey_at = now + _SURVEY_SECONDS
        elif self._surveying.done():
            future, self._surveying = self._surveying, None
            try:
                survey = future.result()
            except AwayError as exc:
                self._note_trouble(exc, now)
                self._let_go()
                return
            self._take_survey(survey, now)

    def _are_entering(self) -> bool:
        gates = (self._entrance.gates.get(scope) for scope in self._finishing)
        return any(gate is not None and gate.entering for gate in gates)

    def _take_survey(self, survey: Survey, now: float) -> None:
        self.trouble = ""
        self._stats.lot = survey
        if survey.due_seconds is not None:
            self._expect_at(max(now + survey.due_seconds + _MARGIN_SECONDS, self._not_before))
        for scope in self._surveyed - survey.heads.keys():
            self._entrance.gates.open(scope)
            self._finished_at.pop(scope, None)
        self._let_go()
        self._look_after_gates(survey)

    def _let_go(self) -> None:
        for scope in self._surveyed:
            gate = self._entrance.gates.get(scope)
            if gate is not None:
                gate.is_finishing = False
        self._surveyed = set()

    def _look_after_gates(self, survey: Survey) -> None:
        """A head that waits for nobody, or a key that nobody waits for: an operator, or a run before, took the head."""
        for scope in survey.heads:
            self._entrance.gates.shut(scope)  # an operator may have made it one
        for scope in self._entrance.gates:
            if survey.heads.get(scope, Status.BEHIND) is Status.BEHIND:
                self.follow(scope)

    def _note_trouble(self, exc: AwayError, now: float) -> None:
        self._retry_at = now + _RETRY_SECONDS
        if exc.message != self.trouble:
            self.trouble = exc.message
            log.warning("lot_trouble", doing="claim", reason=exc.message, remedy=exc.remedy or None)


def _read_time(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:  # beyond the year 9999: a survey will tell in time
        return math.inf
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
