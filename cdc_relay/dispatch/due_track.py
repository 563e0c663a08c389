"""What the lot has that is due by its time: when to ask for it, and when not to ask again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from cdc_relay.dispatch.track import BATCH, Job, Submit, Track
from cdc_relay.parking.entry import Entry, Mark, Outcome, Status
from cdc_relay.parking.lot import Lot

__all__ = ["DueTrack"]

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.02, 1.0  # after a claim of what should have been due and was not
_STUCK_SECONDS, _STUCK_COUNT = 1.0, 1_000
_MARGIN_SECONDS = 0.005  # Postgres' clock decides what is due: be a moment late rather than ask twice


class DueTrack:
    def __init__(
        self,
        lot: Lot,
        *,
        submit: Submit,
        closed_topics: Callable[[], frozenset[str]],
        copies_dead: bool,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.track = Track(self._make_job)
        self.due_at: float | None = None  # on the loop's clock
        self._lot = lot
        self._submit = submit
        self._closed_topics = closed_topics
        self._copies_dead = copies_dead
        self._wall_clock = wall_clock
        self._claimed_at = 0.0
        self._pause_seconds = _FIRST_PAUSE_SECONDS
        self._not_before = 0.0

    def expect(self, entry: Entry, now: float) -> None:
        """Something was parked that is due at some time, or dead and to be copied."""
        if entry.status is Status.DEAD and not self._copies_dead:
            return
        seconds = entry.retry_seconds or 0.0
        if entry.scheduled_at is not None:
            seconds = _read_time(entry.scheduled_at) - self._wall_clock()
        self.expect_at(now + max(0.0, seconds) + _MARGIN_SECONDS)

    def expect_marked(self, mark: Mark, now: float) -> None:
        is_dead = mark.outcome is Outcome.FAILED and mark.retry_seconds is None
        if mark.retry_seconds is not None or (is_dead and self._copies_dead):
            self.expect_at(now + (mark.retry_seconds or 0.0) + _MARGIN_SECONDS)

    def expect_in(self, seconds: float, now: float) -> None:
        """As a survey tells. What is due by its time and was not given waits for something else."""
        self.expect_at(max(now + seconds + _MARGIN_SECONDS, self._not_before))

    def expect_at(self, due_at: float) -> None:
        self.due_at = due_at if self.due_at is None else min(self.due_at, due_at)

    def tend(self, now: float) -> None:
        track = self.track
        if self.due_at is None or now < self.due_at or track.future is not None:
            return
        # One batch at a time, but a record that gets no answer must not keep the others waiting.
        if not track.out or (now - self._claimed_at > _STUCK_SECONDS and track.out < _STUCK_COUNT):
            self.due_at, self._claimed_at = None, now
            track.ask(self._submit)

    def conclude(self, found: bool, now: float) -> None:
        if found:
            self._pause_seconds = _FIRST_PAUSE_SECONDS
        else:
            self._not_before = now + self._pause_seconds
            self._pause_seconds = min(self._pause_seconds * 2, _LONGEST_PAUSE_SECONDS)

    def _make_job(self) -> Job:
        return partial(self._lot.claim_due, closed_topics=self._closed_topics(), limit=BATCH)


def _read_time(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:  # beyond the year 9999: a survey will tell in time
        return math.inf
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
