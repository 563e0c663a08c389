"""From the lot back to the sink: what is due by time, what waited for its topic, what waited behind its key.

Each of these is a track: it claims a batch, hands it to the exit, and claims again when all of it is written down.
The lot is asked on the helper thread; while it does not answer nothing is claimed and nothing is lost.
"""

from __future__ import annotations

import structlog

from cdc_relay.delivery.gates import Lanes
from cdc_relay.delivery.open_work import OpenWork
from cdc_relay.dispatch.due_track import DueTrack
from cdc_relay.dispatch.entrance import Entrance
from cdc_relay.dispatch.exit import Exit
from cdc_relay.dispatch.gatekeeper import Gatekeeper
from cdc_relay.dispatch.key_tracks import KeyTracks
from cdc_relay.dispatch.outages import ClosedTopic, Outages
from cdc_relay.dispatch.topic_tracks import TopicTracks
from cdc_relay.dispatch.track import Submit, Track
from cdc_relay.dispatch.traffic import Parcel, Traffic
from cdc_relay.errors import AwayError
from cdc_relay.parking.entry import Entry, KeyScope, Mark, Outcome, Status, Survey
from cdc_relay.parking.lot import Lot
from cdc_relay.stats import Stats

__all__ = ["Feed"]

log = structlog.get_logger()

_RETRY_SECONDS = 1.0


class Feed:
    """Sees to the tracks, and tells each what the others bring about."""

    def __init__(
        self,
        entrance: Entrance,
        exit_: Exit,
        intake: OpenWork,
        *,
        outages: Outages,
        traffic: Traffic,
        lanes: Lanes[Parcel],
        lot: Lot,
        submit: Submit,
        stats: Stats,
        copies_dead: bool,
    ) -> None:
        self.trouble = ""
        self._entrance = entrance
        self._exit = exit_
        self._intake = intake
        self._outages = outages
        self._traffic = traffic
        self._lanes = lanes
        self._lot = lot
        self._stats = stats
        self._due = DueTrack(lot, submit=submit, closed_topics=lambda: outages.names, copies_dead=copies_dead)
        self._topics = TopicTracks(lot, entrance, submit=submit, window=intake.window)
        self._keys = KeyTracks(lot, entrance, submit=submit, traffic=traffic, lanes=lanes, window=intake.window)
        self._gatekeeper = Gatekeeper(entrance.gates, lot, submit=submit)
        self._answered: list[Track] = []
        self._by_claim: dict[int, Track] = {}
        self._retry_at = 0.0

    # -- what others tell

    def drain(self, topic: ClosedTopic) -> None:
        self._topics.drain(topic)

    def follow(self, scope: KeyScope) -> None:
        """The key's record that was out is settled: the next of the key, from the lot."""
        self._keys.follow(scope)

    def expect(self, entry: Entry) -> None:
        self._due.expect(entry, self._traffic.now)

    def on_marked(self, mark: Mark) -> None:
        self._due.expect_marked(mark, self._traffic.now)
        track = self._by_claim.pop(mark.claim.id, None)
        if track is None:
            return
        track.out -= 1
        if track.topic is not None:
            track.topic.count_drained(is_published=mark.outcome is Outcome.PUBLISHED)

    @property
    def due_at(self) -> float | None:
        return self._due.due_at

    @property
    def is_finishing(self) -> bool:
        """While the lot is asked whether a door can be opened, nobody may come to it."""
        if self._gatekeeper.is_finishing or self._topics.is_finishing:
            return True
        return self._topics.is_pressed and self._is_in_order()  # else nothing is taken out, and pausing would not help

    # -- the clock

    def look(self) -> None:
        """Before the marks are tended: what was claimed after a mark must not be seen before it."""
        tracks = [self._due.track, *self._topics, *self._keys]
        self._answered = [track for track in tracks if track.future is not None and track.future.done()]

    def tend(self, now: float, *, may_claim: bool) -> None:
        if self._lot.was_notified:
            self._lot.was_notified = False
            self._gatekeeper.survey_at, self._due.due_at = 0.0, now
        for track in self._answered:
            self._take_claims(track, now)
        self._answered = []
        if may_claim and now >= self._retry_at and self._is_in_order():
            self._due.tend(now)
            self._topics.tend()
            self._keys.tend(now)
        self._tend_survey(now)

    def _is_in_order(self) -> bool:
        """What the lot has may be newer than what the slot delivers again: nothing is taken out before that is seen."""
        is_written = self._entrance.has_written(self._entrance.claim_after)
        return self._intake.has_passed_parked and is_written

    # -- claims

    def _take_claims(self, track: Track, now: float) -> None:
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
        self._exit.let_out(claims)
        self._conclude(track, bool(claims), now)

    def _conclude(self, track: Track, found: bool, now: float) -> None:
        if track is self._due.track:
            self._due.conclude(found, now)
            self._gatekeeper.survey_at = 0.0  # it tells when the next is due
        elif found:
            return  # a topic's trial is over when its record is written down as published: see on_marked
        elif track.topic is not None:
            if self._topics.finish(track.topic, was_clear=track.was_clear):
                self._outages.open(track.topic)
                self._follow_topic(track.topic.name)
        elif track.scope is not None:
            self._keys.finish(track.scope, now)
            self._gatekeeper.finish(track.scope)

    def _follow_topic(self, topic: str) -> None:
        self._due.expect_at(self._traffic.now)  # a retry may have been due while it was closed
        for scope in self._entrance.gates:
            if scope[0] == topic and scope not in self._lanes:
                self._gatekeeper.finish(scope)

    def _give_way(self, track: Track, exc: AwayError, now: float) -> None:
        """The lot does not answer: read on, and ask again in a moment."""
        self._note_trouble(exc, now)
        if track.topic is not None:
            track.topic.gate.is_finishing = False
        if track is self._due.track:
            self._due.due_at = now

    # -- surveys

    def _tend_survey(self, now: float) -> None:
        try:
            survey = self._gatekeeper.tend(now, may_ask=now >= self._retry_at)
        except AwayError as exc:
            self._note_trouble(exc, now)
            return
        if survey is not None:
            self.adopt(survey, now)

    def adopt(self, survey: Survey, now: float) -> None:
        """What the lot has, also when this session begins.

        A head that waits for nobody, or a key that nobody waits for: an operator, or a run before, took the head.
        """
        self.trouble = ""
        self._stats.lot = survey
        if survey.due_seconds is not None:
            self._due.expect_in(survey.due_seconds, now)
        for scope in self._gatekeeper.take(survey):
            self._keys.forget(scope)
        for scope in self._entrance.gates:
            if survey.heads.get(scope, Status.BEHIND) is Status.BEHIND:
                self._keys.follow(scope)

    def _note_trouble(self, exc: AwayError, now: float) -> None:
        self._retry_at = now + _RETRY_SECONDS
        if exc.message != self.trouble:
            self.trouble = exc.message
            log.warning("lot_trouble", doing="claim", reason=exc.message, remedy=exc.remedy or None)
