"""The way into the lot: what is parked and why, and the doors that are shut behind it.

A gate is a strict key with records in the lot, a shelf a closed topic: who comes to one of them is parked as well. A
ticket is settled here when its record is written down, and not before.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import Future

from cdc_relay.delivery.backoff import delay_seconds
from cdc_relay.delivery.gates import Gate, Gates
from cdc_relay.delivery.open_work import OpenWork
from cdc_relay.errand import Errand
from cdc_relay.model import ErrorClass, Failure, Policy, Record, Scheduled, Ticket, Unroutable
from cdc_relay.parking.entry import Entry, Reason, Status
from cdc_relay.stats import Stats

__all__ = ["Entrance", "note_death"]


class Entrance:
    def __init__(self, intake: OpenWork, *, park: Callable[[list[Entry]], Future[None]], stats: Stats) -> None:
        self._intake = intake
        self._park_all = park
        self._stats = stats
        self.parks: Errand[Entry] = Errand("park", write=self._write, on_written=self._on_written)
        self.gates = Gates()
        self.shelves: dict[str, Gate] = {}
        self.shelf_failures: dict[str, Failure] = {}  # why the topics are closed
        self.insists = False  # whatever is to be parked must be, also over the lot's limit
        self.claim_after = 0  # parks that must be written before anything is taken out of the lot
        self.parked_at = 0.0
        self.now = 0.0
        self.on_due: Callable[[Entry], None] = lambda entry: None
        self.on_parked: Callable[[Entry], None] = lambda entry: None

    def tend(self, now: float, *, may_gather: bool) -> None:
        """A shut key is opened when the lot has none of it, so what goes behind it is written down at once."""
        self.now = now
        self.parks.tend(now, may_gather=may_gather and not self.insists and not self.gates)

    def has_written(self, count: int) -> bool:
        """So many were written into the lot, the first that were to be."""
        return self.parks.written_count >= count

    # -- reasons to be parked

    def set_aside(self, routed: Scheduled | Unroutable, ticket: Ticket) -> None:
        """What is not for the sink, or not now."""
        if isinstance(routed, Scheduled):
            record, scheduled_at = routed
            self._add(Entry(ticket, Status.SCHEDULED, Reason.SCHEDULE, record, scheduled_at=scheduled_at))
            return
        failure, columns, policy, key, value = routed
        status, retry_seconds = _first_failure(failure, policy)
        self._add(Entry(ticket, status, Reason.FAILURE, None, failure, columns, key, value, retry_seconds))

    def take_failed(self, record: Record, ticket: Ticket, failure: Failure) -> Status:
        status, retry_seconds = _first_failure(failure, ticket.policy)
        entry = Entry(ticket, status, Reason.FAILURE, record, failure, retry_seconds=retry_seconds)
        self._add(entry._replace(is_urgent=(record.topic, record.key) in self.gates))
        return status

    def put_behind(self, record: Record, ticket: Ticket, *, is_urgent: bool = False) -> None:
        self.gates.shut((record.topic, record.key)).enter()
        self._add(Entry(ticket, Status.BEHIND, Reason.BEHIND, record, is_urgent=is_urgent))

    def shelve(self, record: Record, ticket: Ticket, *, is_urgent: bool = False) -> None:
        """The topic is closed: into the lot until it is open again."""
        self.shelves[record.topic].enter()
        failure = self.shelf_failures.get(record.topic)
        self._add(Entry(ticket, Status.RETRYING, Reason.TOPIC_CLOSED, record, failure, is_urgent=is_urgent))

    # -- writing down

    def _add(self, entry: Entry) -> None:
        """What comes again before the stream has passed the lot's newest is older than that."""
        if self._intake.has_passed_parked:
            self.parks.add(entry)
        else:
            self.parks.add(entry._replace(is_urgent=True))
            self.claim_after = self.parks.added_count

    def _write(self, entries: list[Entry]) -> Future[None]:
        if self.insists:
            entries = [entry._replace(is_urgent=True) for entry in entries]
        return self._park_all(entries)

    def _on_written(self, entries: list[Entry]) -> None:
        for entry in entries:
            self._intake.settle(entry.ticket)
            self._pass_door(entry)
            if entry.status is Status.DEAD and entry.failure is not None:
                note_death(self._stats, entry.ticket.topic, entry.failure)
            self.on_parked(entry)
            if entry.retry_seconds is not None or entry.scheduled_at is not None or entry.status is Status.DEAD:
                self.on_due(entry)
            self._count(entry)
        self._stats.parked_count += len(entries)
        self.parked_at = self.now

    def _count(self, entry: Entry) -> None:
        counters = self._stats.counters
        counters.parked[entry.reason] += 1
        if entry.reason is not Reason.FAILURE:
            return
        counter = counters.of(entry.ticket.origin.label, entry.ticket.topic)
        if entry.status is Status.DEAD:
            counter.failed += 1
        else:
            counter.retried += 1

    def _pass_door(self, entry: Entry) -> None:
        if entry.record is None:
            return
        topic, key = entry.record.topic, entry.record.key
        door = None
        if entry.reason is Reason.TOPIC_CLOSED:
            door = self.shelves.get(topic)
        elif entry.reason is Reason.BEHIND:
            door = self.gates.get((topic, key))
        if door is not None:
            door.entering -= 1


def note_death(stats: Stats, topic: str, failure: Failure) -> None:
    stats.dead_count += 1
    stats.note(f"a record{f' for topic {topic}' if topic else ''} is dead: {failure.code}")


def _first_failure(failure: Failure, policy: Policy) -> tuple[Status, float | None]:
    if failure.error_class is not ErrorClass.TRANSIENT or policy.retry.max_retries == 0:
        return Status.DEAD, None
    return Status.RETRYING, delay_seconds(policy.retry, 0, random.random)
