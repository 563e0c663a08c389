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
from cdc_relay.dispatch.entrance import Entrance
from cdc_relay.dispatch.publisher import Publisher
from cdc_relay.errors import AwayError
from cdc_relay.model import Failure

__all__ = ["ClosedTopic", "Outages", "Phase", "Probe"]

log = structlog.get_logger()

Probe = Callable[[str], Future[Failure | None]]

_EMPTY_SECONDS = 1.0  # what the other topics' records get to come back before everything is taken back
_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 1.0, 30.0
_LOOK_SECONDS = 1.0
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


class Outages:
    def __init__(
        self,
        publisher: Publisher,
        entrance: Entrance,
        *,
        probe: Probe,
        drain: Callable[[ClosedTopic], None],
        patience_seconds: float,
    ) -> None:
        self.closed: dict[str, ClosedTopic] = {}
        self.oldest_since = 0.0  # since when the oldest open transaction is the oldest
        self._publisher = publisher
        self._entrance = entrance
        self._probe = probe
        self._drain = drain
        self._patience_seconds = patience_seconds
        self._inquiry: dict[str, Future[Failure | None]] | None = None
        self._look_at = 0.0

    @property
    def is_emptying(self) -> bool:
        out = self._publisher.out
        return any(topic.phase is Phase.CLOSED and name in out for name, topic in self.closed.items())

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.closed)

    def close(self, name: str, failure: Failure) -> None:
        now = self._publisher.now
        topic = self.closed.get(name)
        if topic is None:
            _log_closed(name, failure)
            gate = self._publisher.shut_topic(name, failure)
            self.closed[name] = ClosedTopic(
                name, failure, now, gate, empty_by=now + _EMPTY_SECONDS, probe_at=now + _FIRST_WAIT_SECONDS
            )
        elif topic.phase is Phase.DRAINING:
            self._publisher.shut_topic(name, failure)
            topic.phase, topic.failure, topic.empty_by = Phase.CLOSED, failure, now + _EMPTY_SECONDS
            topic.gate.is_finishing = False
            self._wait(topic)

    def adopt(self, names: frozenset[str], now: float) -> None:
        """Records of an earlier session wait for these topics: they go out first, if the topic takes them."""
        unknown = judge(NOT_ACKNOWLEDGED, "records of an earlier session wait for it in the lot")
        for name in names - self.closed.keys():
            gate = self._publisher.shut_topic(name, unknown)
            self.closed[name] = ClosedTopic(name, unknown, now, gate, empty_by=now, probe_at=now)

    def open(self, topic: ClosedTopic) -> None:
        del self.closed[topic.name]
        self._publisher.open_topic(topic.name)
        log.info("topic_open", topic=topic.name, closed_seconds=round(self._publisher.now - topic.since, 1))

    def tend(self, now: float) -> None:
        self._empty(now)
        for topic in list(self.closed.values()):
            if topic.phase is Phase.CLOSED and topic.name not in self._publisher.out:
                self._tend_probe(topic, now)
        if now >= self._look_at:
            self._look_at = now + _LOOK_SECONDS
            self._look(now)

    # -- closing

    def _empty(self, now: float) -> None:
        out = self._publisher.out
        emptying = [t for t in self.closed.values() if t.phase is Phase.CLOSED and t.name in out]
        if not emptying:
            return
        others = sum(out.values()) - sum(out[topic.name] for topic in emptying)
        if not others or now >= max(topic.empty_by for topic in emptying):
            self._publisher.take_back()

    # -- reopening

    def _tend_probe(self, topic: ClosedTopic, now: float) -> None:
        if topic.probing is None:
            if now >= topic.probe_at:
                topic.probing = self._probe(topic.name)
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
            self._drain(topic)
        else:
            self._explain(topic, failure)
            self._wait(topic)

    def _explain(self, topic: ClosedTopic, failure: Failure) -> None:
        """The cause may be another one by now, or be known for the first time."""
        if failure.code != topic.failure.code:
            _log_closed(topic.name, failure)
        topic.failure = self._entrance.shelf_failures[topic.name] = failure

    def _wait(self, topic: ClosedTopic) -> None:
        topic.probe_at = self._publisher.now + topic.wait_seconds
        topic.wait_seconds = min(topic.wait_seconds * 2, _LONGEST_WAIT_SECONDS)

    # -- finding out

    def _look(self, now: float) -> None:
        """Records have been out for too long: is it their topic, or is it the cluster?"""
        if self._inquiry is None:
            late = self._late_topics(now)
            if late:
                self._inquiry = {name: self._probe(name) for name in late}
        elif all(future.done() for future in self._inquiry.values()):
            answers, self._inquiry = self._inquiry, None
            self._look_at = now + self._patience_seconds
            self._conclude(answers, now)

    def _late_topics(self, now: float) -> list[str]:
        """All that are out where the oldest transaction stands still: one partition of a busy topic may be at fault."""
        if self.oldest_since <= now - self._patience_seconds:
            return list(self._publisher.out)
        return self._silent_topics(now)

    def _silent_topics(self, now: float) -> list[str]:
        since, publisher = now - self._patience_seconds, self._publisher
        return [name for name in publisher.out if publisher.moved_at.get(name, now) <= since]

    def _conclude(self, answers: dict[str, Future[Failure | None]], now: float) -> None:
        silent = self._silent_topics(now)
        others_move = self._publisher.delivered_at > now - self._patience_seconds
        for name, future in answers.items():
            try:
                failure = future.result()
            except AwayError:
                return  # the cluster: hold everything, park nothing
            if failure is None and name in silent and others_move:
                failure = judge(NOT_ACKNOWLEDGED, f"nothing acknowledged for {self._patience_seconds:g} s")
            if failure is not None and name in self._publisher.out:
                self.close(name, failure)


def _log_closed(topic: str, failure: Failure) -> None:
    log.warning("topic_closed", topic=topic, code=failure.code, reason=failure.reason, remedy=failure.remedy)
