"""Parked records that were taken out of the lot: each is open until what became of it is written down there again."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import Future

from cdc_relay.delivery.backoff import delay_seconds
from cdc_relay.delivery.window import Window
from cdc_relay.dispatch.entrance import note_death
from cdc_relay.errand import Errand
from cdc_relay.model import ErrorClass, Failure
from cdc_relay.parking.entry import Claim, Mark, Outcome, Reason
from cdc_relay.stats import Stats

__all__ = ["Claims"]


class Claims:
    def __init__(self, window: Window, *, mark: Callable[[list[Mark]], Future[None]], stats: Stats) -> None:
        self.marks: Errand[Mark] = Errand("mark", write=mark, on_written=self._on_written)
        self.open_ids: set[int] = set()  # of those that are out, or not yet written down again
        self.on_marked: Callable[[Mark], None] = lambda mark: None
        self._window = window
        self._stats = stats

    @property
    def is_idle(self) -> bool:
        return self.marks.is_idle and not self.open_ids

    def begin(self, claim: Claim) -> None:
        self.open_ids.add(claim.id)
        self._window.take(claim.size_bytes)

    def release(self, claim: Claim) -> None:
        """Not tried, or not its own fault: not an attempt."""
        self.conclude(claim, Outcome.RELEASED)

    def fail(self, claim: Claim, failure: Failure) -> bool:
        """Whether it is dead now."""
        retry_count = claim.attempts if claim.reason is Reason.FAILURE else 0  # else it was the record's first try
        is_dead = failure.error_class is not ErrorClass.TRANSIENT or retry_count >= claim.max_attempts
        retry_seconds = None if is_dead else delay_seconds(claim.policy.retry, retry_count, random.random)
        self.conclude(claim, Outcome.FAILED, failure=failure, retry_seconds=retry_seconds)
        counter = self._stats.counters.of(claim.outbox, claim.topic)
        if is_dead:
            counter.failed += 1
            note_death(self._stats, claim.topic, failure)
        else:
            counter.retried += 1
        return is_dead

    def conclude(
        self, claim: Claim, outcome: Outcome, *, failure: Failure | None = None, retry_seconds: float | None = None
    ) -> None:
        self._window.release(claim.size_bytes)
        routed = claim.record if claim.columns is not None and outcome is Outcome.PUBLISHED else None
        self.marks.add(Mark(claim, outcome, failure, retry_seconds, routed))

    def _on_written(self, marks: list[Mark]) -> None:
        for mark in marks:
            self.open_ids.discard(mark.claim.id)
            if mark.outcome is Outcome.PUBLISHED:
                self._stats.republished_count += 1
            self.on_marked(mark)
