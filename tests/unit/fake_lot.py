"""The lot in memory, by the rules of parking/queries.sql, and a helper whose jobs run when the test says so."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import accumulate
from typing import TypeVar

from cdc_relay.errors import AwayError
from cdc_relay.model import Columns, Failure, Identity, Policy, Record
from cdc_relay.parking.entry import Claim, Entry, Inventory, KeyScope, Mark, Outcome, Purpose, Reason, Status
from cdc_relay.parking.entry import Survey as LotSurvey

__all__ = ["FakeJobs", "FakeLot", "Row"]

T = TypeVar("T")
_LIVE = (Status.RETRYING, Status.BEHIND, Status.SCHEDULED, Status.DEAD)
_HOLDING = (Status.RETRYING, Status.BEHIND, Status.DEAD)
_CLAIM_BYTES = 8 << 20


@dataclass(eq=False)
class Row:
    """One parked record. `record` is None where the table's topic is NULL."""

    id: int
    identity: Identity
    status: Status
    reason: Reason
    policy: Policy
    record: Record | None
    columns: Columns | None
    size_bytes: int
    due_at: float | None  # next_retry_at
    scheduled_at: float | None
    failure: Failure | None
    parked_at: float
    attempts: int = 0
    suspicion: int = 0
    is_claimed: bool = False
    claimed_at: float = 0.0
    is_locked: bool = False  # by an operator's open transaction
    is_copied: bool = False
    was_dead: bool = False

    @property
    def position(self) -> tuple[int, int]:
        return self.identity[1], self.identity[2]

    @property
    def scope(self) -> KeyScope | None:
        """The strict key that it belongs to."""
        record = self.record
        if record is None or record.key is None or not self.policy.strict or self.scheduled_at is not None:
            return None
        return record.topic, record.key

    @property
    def holds(self) -> bool:
        return self.status in _HOLDING and (self.status is not Status.DEAD or self.policy.hold_dead)


@dataclass
class _Run:
    """The row of cdc_relay.runs, and which process wrote it."""

    confirmed_lsn: int = 0
    process: int = 0
    ended: bool = True
    deaths: int = 0
    note: Identity | None = None  # the record that is being processed
    note_count: int = 1  # or the first of so many
    suspects: dict[Identity, int] = field(default_factory=dict)  # how many runs died while it was noted alone
    handfuls: dict[Identity, int] = field(default_factory=dict)  # or how many were noted from it on


@dataclass
class FakeLot:
    """`away`: calls that raise AwayError and change nothing; `lost`: claims that are made, but whose answer is lost."""

    clock: Callable[[], float]
    dead_letter_topic: str | None = None
    limit_records: int = 1_000_000
    end_lsn: int = 0  # of the WAL, for who takes over
    was_notified: bool = False
    away: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    rows: dict[int, Row] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    run: _Run = field(default_factory=_Run)
    process: int = 1
    _out: set[int] = field(default_factory=set)
    _has_strays: bool = False

    # -- what a test does or asks

    def find(self, identity: Identity) -> Row | None:
        return next((row for row in self.rows.values() if row.identity == identity), None)

    def live(self) -> list[Row]:
        return [row for row in self.rows.values() if row.status in _LIVE]

    def begin_process(self) -> None:
        """The process is another one; whether the last one ended in order, `run.ended` knows."""
        self.process += 1
        self._out.clear()
        self._has_strays = False

    def retry(self, row: Row) -> None:
        """As cdc-relay dlq retry."""
        row.status, row.reason, row.due_at = Status.RETRYING, Reason.FAILURE, self.clock()
        row.attempts = row.suspicion = 0
        self.was_notified = True

    def drop(self, row: Row) -> None:
        """As cdc-relay dlq discard, or cancel."""
        row.status = Status.CANCELLED if row.status is Status.SCHEDULED else Status.DISCARDED
        row.due_at = None
        self.was_notified = True

    # -- the seam

    def open(self) -> None:
        self._call("open")

    def close(self) -> None:
        self.calls.append("close")

    def take_over(self, confirmed_lsn: int) -> Inventory:
        self._call("take_over")
        has_died = self._begin_run(confirmed_lsn)
        self._release(self.rows.values(), has_died=has_died)
        for row in self.rows.values():
            if row.status is Status.RETRYING and row.due_at is None and row.reason is not Reason.TOPIC_CLOSED:
                row.due_at = self.clock()
        self._out.clear()
        self._has_strays = False
        identities = frozenset(row.identity for row in self.rows.values() if row.identity[1] >= confirmed_lsn)
        suspects, handfuls = dict(self.run.suspects), dict(self.run.handfuls)
        inventory = Inventory(identities, self._survey(), self.run.deaths, suspects, handfuls, confirmed_lsn)
        return replace(inventory, end_lsn=self.end_lsn)

    def park(self, entries: Sequence[Entry]) -> None:
        self._call("park")
        if len(self.live()) >= self.limit_records and not any(entry.is_urgent for entry in entries):
            raise AwayError("the lot is at its limit", remedy="make room")
        known = {row.identity for row in self.rows.values()}
        for entry in entries:
            if entry.ticket.identity not in known:
                known.add(entry.ticket.identity)
                self._add(entry)

    def claim_due(self, *, closed_topics: Collection[str], limit: int) -> list[Claim]:
        self._call("claim_due")
        now = self.clock()
        due = [(at, row) for row in self._free() if (at := self._due_at(row)) is not None and at <= now]
        found = [(at, row) for at, row in due if row.record is None or row.record.topic not in closed_topics]
        chosen = _ordered(found)[:limit]
        if self.dead_letter_topic is not None and self.dead_letter_topic not in closed_topics:
            copies = [(row.parked_at, row) for row in self._free() if self._wants_copy(row, now)]
            chosen += _ordered(copies)[: limit - len(chosen)]
        return self._take("claim_due", chosen)

    def claim_topic(self, topic: str, *, limit: int) -> list[Claim]:
        self._call("claim_topic")
        waiting = [row for row in self._free() if _waits_for_topic(row) and row.record and row.record.topic == topic]
        found = [row for row in waiting if not self._is_held_by_failure(row)]
        return self._take("claim_topic", sorted(found, key=lambda row: row.position)[:limit])

    def claim_key(self, topic: str, key: bytes | None, *, limit: int) -> list[Claim]:
        self._call("claim_key")
        ready: list[Row] = []
        for row in self._key_rows((topic, key))[:limit]:
            if row.is_claimed or row.is_locked or not self._is_ready(row):
                break
            ready.append(row)
        return self._take("claim_key", ready)

    def mark(self, marks: Sequence[Mark]) -> None:
        self._call("mark")
        for mark in marks:
            row = self.rows[mark.claim.id]
            if row.is_claimed and row.attempts == mark.claim.attempts:
                self._mark(row, mark)
        self._out.difference_update(mark.claim.id for mark in marks)

    def survey(self) -> LotSurvey:
        self._call("survey")
        for id_ in self._out:
            self.rows[id_].claimed_at = self.clock()
        return self._survey()

    def open_note(self, identity: Identity, *, count: int = 1) -> None:
        self._call("open_note")
        assert self.run.process == self.process
        self.run.note, self.run.note_count = identity, count

    def close_note(self) -> None:
        self._call("close_note")
        if self.run.process == self.process and self.run.note is not None:
            (self.run.suspects if self.run.note_count == 1 else self.run.handfuls).pop(self.run.note, None)
            self.run.note = None

    def forget_handfuls(self) -> None:
        self._call("forget_handfuls")
        if self.run.process == self.process:
            self.run.handfuls.clear()

    def end_run(self) -> None:
        self._call("end_run")
        if self.run.process == self.process:
            self.run.ended, self.run.note = True, None

    # -- inside

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name in self.away or "*" in self.away:
            raise AwayError("the lot is away", remedy="wait")

    def _begin_run(self, confirmed_lsn: int) -> bool:
        """Whether the run before this one died; whoever it had noted is a suspect."""
        run, is_new = self.run, self.run.process != self.process
        has_died = is_new and not run.ended
        if run.confirmed_lsn != confirmed_lsn or run.ended:
            run.deaths = 0
        elif is_new:
            run.deaths += 1
        if is_new and run.note is not None:
            if run.note_count == 1:
                run.suspects[run.note] = run.suspects.get(run.note, 0) + 1
            else:
                run.handfuls[run.note] = run.note_count
        run.note = None
        run.process, run.confirmed_lsn, run.ended = self.process, confirmed_lsn, False
        return has_died

    def _add(self, entry: Entry) -> None:
        ticket, record, now = entry.ticket, entry.record, self.clock()
        row = Row(
            id=len(self.rows) + 1,
            identity=ticket.identity,
            status=entry.status,
            reason=entry.reason,
            policy=ticket.policy,
            record=record,
            columns=entry.columns,
            size_bytes=ticket.size_bytes if record is None else record.size_bytes,
            due_at=None if entry.retry_seconds is None else now + entry.retry_seconds,
            scheduled_at=None if entry.scheduled_at is None else _read_time(entry.scheduled_at),
            failure=entry.failure,
            parked_at=now,
            was_dead=entry.status is Status.DEAD,
        )
        self.rows[row.id] = row

    def _free(self) -> list[Row]:
        return [row for row in self.rows.values() if not row.is_claimed and not row.is_locked]

    def _due_at(self, row: Row) -> float | None:
        if row.status is Status.SCHEDULED:
            return row.scheduled_at
        return row.due_at if row.status is Status.RETRYING and not self._is_held(row) else None

    def _wants_copy(self, row: Row, now: float) -> bool:
        return row.status is Status.DEAD and not row.is_copied and (row.due_at is None or row.due_at <= now)

    def _is_ready(self, row: Row) -> bool:
        if row.status is Status.DEAD:
            return False
        is_due = row.due_at is not None and row.due_at <= self.clock()
        return row.status is Status.BEHIND or row.reason is Reason.TOPIC_CLOSED or is_due

    def _key_rows(self, scope: KeyScope) -> list[Row]:
        found = [row for row in self.rows.values() if row.scope == scope and row.holds]
        return sorted(found, key=lambda row: row.position)

    def _is_held(self, row: Row) -> bool:
        scope = row.scope
        return scope is not None and any(each.position < row.position for each in self._key_rows(scope))

    def _is_held_by_failure(self, row: Row) -> bool:
        """An earlier one of its key waits for something else than the topic, or is being published."""
        scope = row.scope
        earlier = [] if scope is None else [each for each in self._key_rows(scope) if each.position < row.position]
        return any(each.is_claimed or not _waits_for_topic(each) for each in earlier)

    def _take(self, name: str, rows: list[Row]) -> list[Claim]:
        self._release_strays()
        claims = [self._claim(row) for row in _within_bytes(rows)]
        if name in self.lost:
            self.lost.discard(name)
            self._has_strays = True
            raise AwayError("the answer was lost")
        self._out.update(claim.id for claim in claims)
        return claims

    def _claim(self, row: Row) -> Claim:
        row.is_claimed, row.claimed_at = True, self.clock()
        if row.status is not Status.DEAD:
            row.attempts += 1
        is_copy = row.status is Status.DEAD
        policy = replace(row.policy, strict=False, hold_dead=False) if is_copy else row.policy
        record = self._copy(row, policy) if is_copy else row.record
        return Claim(
            id=row.id,
            attempts=row.attempts,
            max_attempts=row.policy.retry.max_retries,
            purpose=Purpose.COPY if is_copy else Purpose.PUBLISH,
            status=row.status,
            reason=row.reason,
            outbox=row.identity[0],
            commit_lsn=row.identity[1],
            ordinal=row.identity[2],
            commit_time_us=row.identity[3],
            topic=record.topic if record is not None else "",
            size_bytes=record.size_bytes if record is not None else row.size_bytes,
            headers=record.headers if record is not None else [],
            policy=policy,
            record=record,
            columns=row.columns if record is None else None,
            is_scheduled=row.scheduled_at is not None,
            suspicion=row.suspicion,
        )

    def _copy(self, row: Row, policy: Policy) -> Record:
        topic = self.dead_letter_topic or ""
        if row.record is None:
            return Record(topic, None, b"", [], 0, row.size_bytes, policy)
        return row.record._replace(topic=topic, policy=policy)

    def _release_strays(self) -> None:
        if self._has_strays:
            self._release((row for row in self.rows.values() if row.id not in self._out), has_died=False)
            self._has_strays = False

    def _release(self, rows: Iterable[Row], *, has_died: bool) -> None:
        for row in rows:
            if row.is_claimed:
                row.is_claimed = False
                row.attempts -= 0 if row.status is Status.DEAD else 1
                row.suspicion += has_died

    def _mark(self, row: Row, mark: Mark) -> None:
        row.is_claimed = False
        match mark.outcome:
            case Outcome.PUBLISHED:
                row.status, row.due_at, row.record = Status.PUBLISHED, None, mark.record or row.record
            case Outcome.FAILED:
                self._mark_failed(row, mark)
            case Outcome.RELEASED:
                row.attempts -= 0 if row.status is Status.DEAD else 1
                row.due_at = row.due_at if mark.retry_seconds is None else self.clock() + mark.retry_seconds
            case Outcome.COPIED:
                row.is_copied, row.due_at = True, None
            case Outcome.COPY_FAILED:
                row.due_at = self.clock() + (mark.retry_seconds or 0.0)

    def _mark_failed(self, row: Row, mark: Mark) -> None:
        is_dead = mark.retry_seconds is None
        row.attempts -= 0 if row.reason is Reason.FAILURE else 1  # it was the record's first try, not a retry
        row.status, row.reason, row.failure = Status.DEAD if is_dead else Status.RETRYING, Reason.FAILURE, mark.failure
        row.due_at = None if mark.retry_seconds is None else self.clock() + mark.retry_seconds
        row.is_copied, row.was_dead = False, row.was_dead or is_dead

    def _survey(self) -> LotSurvey:
        live, now = self.live(), self.clock()
        scopes = {row.scope for row in live if row.scope is not None and row.holds}
        due = [at for row in live if not row.is_claimed and (at := self._due_at(row)) is not None]
        if self.dead_letter_topic is not None:
            uncopied = [row for row in live if row.status is Status.DEAD and not row.is_copied and not row.is_claimed]
            due += [now if row.due_at is None else row.due_at for row in uncopied]
        return LotSurvey(
            heads={scope: _head_status(self._key_rows(scope)[0]) for scope in scopes},
            waiting_topics=frozenset(row.record.topic for row in live if _waits_for_topic(row) and row.record),
            due_seconds=max(0.0, min(due) - now) if due else None,
            counts={status: sum(row.status is status for row in live) for status in {row.status for row in live}},
            live_count=len(live),
            live_bytes=sum(row.size_bytes for row in live),
            oldest_seconds=max((now - row.parked_at for row in live), default=None),
        )


class FakeJobs:
    """What the loop hands to the helper: run one after the other, at once with `eager`, else when the test says so."""

    def __init__(self, *, eager: bool = False) -> None:
        self.eager = eager
        self.on_done: Callable[[], None] = lambda: None
        self._queue: deque[tuple[Future[object], Callable[[], object]]] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    def submit(self, job: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        self._queue.append((future, job))  # type: ignore[arg-type]  # each future belongs to its job
        if self.eager:
            self.run()
        return future

    def run(self, count: int = 1_000_000) -> None:
        while self._queue and count > 0:
            count -= 1
            future, job = self._queue.popleft()
            try:
                future.set_result(job())
            except AwayError as exc:
                future.set_exception(exc)
            self.on_done()


def _ordered(found: list[tuple[float, Row]]) -> list[Row]:
    return [row for _, row in sorted(found, key=lambda each: (each[0], each[1].position, each[1].id))]


def _within_bytes(rows: list[Row]) -> list[Row]:
    """At least one, however large."""
    before = accumulate((row.size_bytes for row in rows), initial=0)
    return [row for row, size_bytes in zip(rows, before, strict=False) if size_bytes < _CLAIM_BYTES]


def _head_status(row: Row) -> Status:
    """What waits for its topic waits for nothing else."""
    return Status.BEHIND if row.reason is Reason.TOPIC_CLOSED else row.status


def _waits_for_topic(row: Row) -> bool:
    return row.status is Status.RETRYING and row.reason is Reason.TOPIC_CLOSED


def _read_time(text: str) -> float:
    return datetime.fromisoformat(text).astimezone(UTC).timestamp()
