"""Topics that are closed: one that cannot take records must not keep the others waiting.

Closing: hand out nothing until only its records are out (a second at most), take them back, and park them. Then probe
with backoff; a topic that looks well gets its parked records first, one as a trial, and is open when none is left.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum, auto

import structlog

from cdc_relay.delivery.failures import NOT_ACKNOWLEDGED, judge
from cdc_relay.delivery.gates import Gate
from cdc_relay.dispatch.detours import Detours
from cdc_relay.dispatch.entrance import Entrance
from cdc_relay.dispatch.traffic import Traffic
from cdc_relay.errors import AwayError
from cdc_relay.model import Failure
from cdc_relay.stats import Closure

__all__ = ["ClosedTopic", "Outages", "Phase", "Probe"]

log = structlog.get_logger()

Probe = Callable[[str], Future[Failure | None]]

_EMPTY_SECONDS = 1.0  # what the other topics' records get to come back before everything is taken back
_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 1.0, 30.0
_LOOK_SECONDS = 1.0
_AGAIN_SECONDS = 5.0  # between two looks at records that are out for too long
_SLACK_COUNT = 2_000


class Phase(Enum):
    CLOSED = auto()
    DRAINING = auto()  # looks well: its parked records go out, new ones still go into the lot


@dataclass(slots=True)
class ClosedTopic:
    name: str
    failure: Failure
    since: float
    gate: Gate
    empty_by: float
    probe_at: float
    wait_seconds: float = _FIRST_WAIT_SECONDS
    phase: Phase = Phase.CLOSED
    probing: Future[Failure | None] | None = None
    is_trial: bool = True  # the next claim is a single record
    drained_count: int = 0

    @property
    def is_pressed(self) -> bool:
        """More comes in than goes out: it would never be open again."""
        return self.phase is Phase.DRAINING and self.gate.entered > self.drained_count * 3 // 4 + _SLACK_COUNT

    def count_drained(self, *, is_published: bool) -> None:
        """A record of it came out of the lot and is written down again."""
        self.drained_count += 1
        self.is_trial = self.phase is not Phase.DRAINING or not is_published


class Outages:
    def __init__(
        self,
        traffic: Traffic,
        detours: Detours,
        entrance: Entrance,
        *,
        take_back: Callable[[], None],
        probe: Probe,
        patience_seconds: float,
    ) -> None:
        self.closed: dict[str, ClosedTopic] = {}
        self.closures: tuple[Closure, ...] = ()  # the same for others to see, made anew at each change
        self.on_well: Callable[[ClosedTopic], None] = lambda topic: None
        self.on_closed: Callable[[str, Failure], None] = lambda topic, failure: None
        self.oldest_since = 0.0  # since when the oldest open transaction is the oldest
        self._traffic = traffic
        self._detours = detours
        self._entrance = entrance
        self._take_back = take_back
        self._probe = probe
        self._patience_seconds = patience_seconds
        self._to_ask: list[str] = []
        self._asking: tuple[str, Future[Failure | None]] | None = None
        self._sick_since: dict[str, float] = {}  # topics of which the cluster says what keeps them
        self._look_at = 0.0

    @property
    def is_emptying(self) -> bool:
        out = self._traffic.out
        return any(topic.phase is Phase.CLOSED and name in out for name, topic in self.closed.items())

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.closed)

    def close(self, name: str, failure: Failure) -> None:
        now = self._traffic.now
        topic = self.closed.get(name)
        if topic is None:
            self._say_closed(name, failure)
            gate = self._detours.shut(name, failure)
            self.closed[name] = ClosedTopic(
                name, failure, now, gate, empty_by=now + _EMPTY_SECONDS, probe_at=now + _FIRST_WAIT_SECONDS
            )
        elif topic.phase is Phase.DRAINING:
            self._detours.shut(name, failure)
            topic.phase, topic.failure, topic.empty_by = Phase.CLOSED, failure, now + _EMPTY_SECONDS
            topic.gate.is_finishing = False
            self._wait(topic)
        self._show()

    def adopt(self, names: frozenset[str], now: float) -> None:
        """Records of an earlier session wait for these topics: they go out first, if the topic takes them."""
        unknown = judge(NOT_ACKNOWLEDGED, "records of an earlier session wait for it in the lot")
        for name in names - self.closed.keys():
            gate = self._detours.shut(name, unknown)
            self.closed[name] = ClosedTopic(name, unknown, now, gate, empty_by=now, probe_at=now)
        self._show()

    def open(self, topic: ClosedTopic) -> None:
        del self.closed[topic.name]
        self._sick_since.pop(topic.name, None)
        self._detours.open(topic.name)
        self._show()
        log.info("topic_open", topic=topic.name, closed_seconds=round(self._traffic.now - topic.since, 1))

    def tend(self, now: float) -> None:
        self._empty(now)
        for topic in list(self.closed.values()):
            if topic.phase is Phase.CLOSED and topic.name not in self._traffic.out:
                self._tend_probe(topic, now)
        self._look(now)

    # -- closing

    def _empty(self, now: float) -> None:
        out = self._traffic.out
        emptying = [t for t in self.closed.values() if t.phase is Phase.CLOSED and t.name in out]
        if not emptying:
            return
        others = sum(out.values()) - sum(out[topic.name] for topic in emptying)
        if not others or now >= max(topic.empty_by for topic in emptying):
            self._take_back()

    # -- reopening

    def _tend_probe(self, topic: ClosedTopic, now: float) -> None:
        if topic.probing is None:
            if now >= topic.probe_at and not any(each.probing for each in self.closed.values()):
                topic.probing = self._probe(topic.name)  # one at a time: the helper has other things to do
            return
        if not topic.probing.done():
            return
        future, topic.probing = topic.probing, None
        try:
            failure = future.result()
        except AwayError:
            failure = topic.failure  # the cluster is away: nothing new is known of the topic
        if failure is None:
            topic.phase, topic.is_trial = Phase.DRAINING, True
            topic.drained_count = topic.gate.entered = 0
            self.on_well(topic)
        else:
            self._explain(topic, failure)
            self._wait(topic)

    def _explain(self, topic: ClosedTopic, failure: Failure) -> None:
        """The cause may be another one by now, or be known for the first time."""
        if failure.code != topic.failure.code:
            self._say_closed(topic.name, failure)
        topic.failure = self._entrance.shelf_failures[topic.name] = failure
        self._show()

    def _wait(self, topic: ClosedTopic) -> None:
        topic.probe_at = self._traffic.now + topic.wait_seconds
        topic.wait_seconds = min(topic.wait_seconds * 2, _LONGEST_WAIT_SECONDS)

    # -- finding out

    def _look(self, now: float) -> None:
        """Records have been out for too long: is it their topic, or is it the cluster? One question at a time."""
        if self._asking is None:
            if not self._to_ask and now >= self._look_at:
                self._look_at = now + _LOOK_SECONDS
                self._to_ask = self._late_topics(now)
            if self._to_ask:
                name = self._to_ask.pop()
                self._asking = name, self._probe(name)
        elif self._asking[1].done():
            (name, future), self._asking = self._asking, None
            self._look_at = now + _AGAIN_SECONDS
            try:
                self._conclude(name, future.result(), now)
            except AwayError:  # the cluster: hold everything, park nothing
                self._to_ask = []
                self._sick_since.clear()

    def _late_topics(self, now: float) -> list[str]:
        """All that are out where the oldest transaction stands still: one partition of a busy topic may be at fault."""
        if self.oldest_since <= now - self._patience_seconds:
            return list(self._traffic.out)
        return self._silent_topics(now)

    def _silent_topics(self, now: float) -> list[str]:
        since, traffic = now - self._patience_seconds, self._traffic
        return [name for name in traffic.out if traffic.moved_at.get(name, now) <= since]

    def _conclude(self, name: str, failure: Failure | None, now: float) -> None:
        """A cluster that comes back may not know all its leaders yet: what it says must last, or others must move."""
        if name not in self._traffic.out:
            return
        others_move = self._do_others_move(now)
        if failure is None:
            self._sick_since.pop(name, None)
            if others_move and name in self._silent_topics(now):
                seconds = self._patience_seconds
                self.close(name, judge(NOT_ACKNOWLEDGED, f"nothing acknowledged for {seconds:g} s, while others are"))
        elif others_move or now - self._sick_since.setdefault(name, now) >= _AGAIN_SECONDS:
            self.close(name, failure)

    def _do_others_move(self, now: float) -> bool:
        """For as long as a topic may be silent: right after an outage one leader is quicker than another."""
        is_moving = self._traffic.delivered_at > now - _AGAIN_SECONDS
        return is_moving and now - self._traffic.flowing_since >= self._patience_seconds

    # -- being seen

    def _show(self) -> None:
        self.closures = tuple(Closure(topic.name, topic.failure, topic.since) for topic in self.closed.values())

    def _say_closed(self, topic: str, failure: Failure) -> None:
        self.on_closed(topic, failure)
        log.warning("topic_closed", topic=topic, code=failure.code, reason=failure.reason, remedy=failure.remedy)
