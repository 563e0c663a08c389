"""The loop: one replication line, read, published, settled and confirmed, until it ends.

Runs on one thread. It knows stream, sink and checks as Protocols only, and every LSN in it dies with it. What becomes
of a record between reading and settling is the affair of `dispatch`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol

import structlog

from cdc_relay.bell import Bell
from cdc_relay.delivery.intake import Intake
from cdc_relay.delivery.outcome import Outcome
from cdc_relay.dispatch.caution import SURVIVED_SECONDS
from cdc_relay.dispatch.dispatch import Dispatch
from cdc_relay.errors import AwayError, SourceError
from cdc_relay.model import Record
from cdc_relay.protocol import wire
from cdc_relay.sinks.sink import Reports, Sink
from cdc_relay.standstill import Standstill
from cdc_relay.stats import State, Stats
from cdc_relay.stop import Stop

__all__ = ["Check", "CheckResult", "End", "Session", "Stream", "Timing"]

log = structlog.get_logger()

_GULP_FRAMES = 500  # between two looks at the producer: about 8 ms of work
_BEHIND_US = 50_000  # a transaction sent later than this after its commit: we are behind, so gather
_NAP_SECONDS = 0.005  # while behind, on an empty socket: the walsender then sends in bulk instead of row by row
_FLUSH_SECONDS = 0.001  # caught up: send at once and wait for the report
_FULL_SECONDS = 0.005
_HOLD_SECONDS = 0.05
_COMMIT_SECONDS = 0.2
_HANDSHAKE_SECONDS = 5.0
_NOTE_SECONDS = 1.0  # between two tries to note a record
_LARGE_FRAME_BYTES = 16 << 20  # libpq's buffer stays grown after such a frame until the line is closed


class Stream(Protocol):
    is_receiving: bool  # bytes had arrived when `read` last found no whole frame

    def read(self) -> bytes | memoryview | None: ...

    def send_status(self, *, write_lsn: int, flush_lsn: int, reply_requested: bool = False) -> None: ...

    def wait(self, timeout_seconds: float, *others: Stop | Bell) -> None:
        """Until there is something to read, or one of the others has something to say, or the time is over."""
        ...

    def close(self) -> None: ...


class CheckResult(Protocol):
    @property
    def lag_bytes(self) -> int | None: ...


Check = Callable[[], Future[Any]]  # of CheckResult; Future is invariant


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds. What the promises say; tests may be less patient."""

    silence: float = 5.0  # half of wal_sender_timeout: a line that says nothing for so long is dead
    status: float = 1.0
    check: float = 10.0
    hold: float = 5.0  # nothing acknowledged for so long: say that we hold
    release: float = 60.0  # holding with a full window for so long: close the line
    drain: float = 30.0


class End(Enum):
    STOPPED = auto()  # asked to
    RELEASED = auto()  # the broker is away for too long
    LEAVING = auto()  # Postgres shuts down
    REFRESH = auto()  # give back the memory of a very large message


class Session:
    """`run` turns until something ends it; `part` takes leave of Postgres; `close` drops the line."""

    def __init__(
        self,
        stream: Stream,
        intake: Intake,
        *,
        sink: Sink,
        dispatch: Dispatch,
        check: Check,
        server_is_leaving: Callable[[], bool],
        stats: Stats,
        stop: Stop,
        bell: Bell,
        timing: Timing,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._intake = intake
        self._sink = sink
        self._dispatch = dispatch
        self._check = check
        self._server_is_leaving = server_is_leaving
        self._stats = stats
        self._stop = stop
        self._bell = bell  # the helper has finished something
        self._timing = timing
        self._clock = clock
        now = clock()
        self._standstill = Standstill(now, timing.silence)
        self._heard_at = self._settled_at = now
        self._status_at = now  # the first one at once: flush 0, so that the server knows we are here
        self._check_at = now + timing.check
        self._confirmed = False  # the first confirmation does not wait for the clock: a short session must get on too
        self._checking: Future[Any] | None = None
        self._idle_lsn_under_check = 0
        self._parted = False
        self._frame: bytes | memoryview | None = None  # read, and not yet noted: see _gulp_carefully
        self._note_at = now

    def run(self) -> End:
        while True:
            end = self._turn()
            if end is not None:
                return end

    def part(self, drain_seconds: float) -> int:
        """Hand out nothing new, drain, and make sure that Postgres has heard the last confirmation; what is left."""
        deadline = self._clock() + drain_seconds
        self._dispatch.feed.is_leaving = True
        if not self._parted:  # a row may have been read and dropped the first time: never read on behind it
            self._parted = True
            self._read_to_commit(self._clock() + min(drain_seconds, _COMMIT_SECONDS))
        while not self._is_drained and self._clock() < deadline:
            self._drain_turn()
        self._shake_hands(self._clock() + _HANDSHAKE_SECONDS)
        return self._intake.window.record_count + self._dispatch.unwritten_count

    def close(self) -> None:
        self._stream.close()

    @property
    def _is_drained(self) -> bool:
        return not self._intake.window.record_count and self._dispatch.is_idle

    def _drain_turn(self) -> None:
        if self._dispatch.is_waiting_for_broker:
            self._settle(self._sink.flush(0.05))
        else:
            self._bell.wait(0.05)
            self._bell.hush()
            self._settle(self._sink.poll(0))
        now = self._clock()
        self._tend_dispatch(now, may_claim=False)
        self._report_if_due(now)
        self._count(now)

    def _turn(self) -> End | None:
        now = self._clock()
        self._standstill.notice(now)
        self._dispatch.publisher.now = now
        more = self._gulp_carefully() if self._dispatch.caution.is_on else self._gulp()
        self._settle(self._await_reports(more, now))
        may_claim = not (self._is_holding(now) and self._dispatch.is_waiting_for_broker)
        self._tend_dispatch(self._clock(), may_claim=may_claim)
        self._tend_check(now)
        self._notice_silence(now)
        self._report_if_due(now)
        self._observe(now)
        return self._find_end(now)

    # -- reading and publishing

    def _gulp(self) -> bool:
        """Read what the socket has, within the window. True while there is more."""
        read, take, offer = self._stream.read, self._intake.take, self._dispatch.publisher.offer
        window = self._intake.window
        if self._dispatch.is_paused:
            self._heard_at = self._clock()  # unheard while we do not listen is no silence
            return True
        for count in range(_GULP_FRAMES):
            frame = None if window.is_full else read()
            if frame is None:
                if count or window.is_full or self._stream.is_receiving:
                    self._heard_at = self._clock()
                return window.is_full
            outcome = take(frame)
            frame = None  # a very large one must not live on beside the producer's copy of it
            if outcome is None:
                continue
            routed, ticket = outcome
            if type(routed) is Record:
                offer(routed, ticket)
            else:
                self._hand_over(outcome)
        self._heard_at = self._clock()
        return True

    def _hand_over(self, outcome: Outcome) -> None:
        routed, ticket = outcome
        if isinstance(routed, Record):
            self._dispatch.publisher.offer(routed, ticket)
        else:
            self._dispatch.entrance.set_aside(routed, ticket)

    def _await_reports(self, more: bool, now: float) -> Reports:
        """Behind: gather. Caught up: send at once. Nothing out: sleep until somebody or a clock calls."""
        window = self._intake.window
        if not self._dispatch.is_waiting_for_broker:
            return self._sleep(more, now)
        if window.is_full or self._dispatch.is_paused:
            return self._sink.flush(self._patience(now, _FULL_SECONDS))  # nothing more can join what lingers
        if not self._dispatch.publisher.lanes.waiting_count:  # a strict key waits for each of its records
            if more:
                return self._sink.poll(0)
            if self._intake.lag_us > _BEHIND_US:
                time.sleep(_NAP_SECONDS)
                return self._sink.poll(0)
        return self._sink.flush(self._patience(now, _FLUSH_SECONDS))

    def _sleep(self, more: bool, now: float) -> Reports:
        if self._intake.window.is_full or self._dispatch.is_paused:
            self._bell.wait(_FULL_SECONDS)  # only the helper can help
        elif not more:
            self._stream.wait(max(0.0, self._next_clock() - now), self._stop, self._bell)
        self._bell.hush()
        return self._sink.poll(0)

    def _next_clock(self) -> float:
        clocks = [self._status_at]
        if self._checking is None:
            clocks.append(self._check_at)
        if self._dispatch.due_at is not None:
            clocks.append(self._dispatch.due_at)
        if not self._is_drained:
            clocks.append(self._clock() + _HOLD_SECONDS)
        return min(clocks)

    def _patience(self, now: float, seconds: float) -> float:
        """While we hold there is no hurry, and no sense in turning a thousand times a second."""
        return _HOLD_SECONDS if self._is_holding(now) else seconds

    def _gulp_carefully(self) -> bool:
        """Repeated deaths at this position: one record at a time, noted durably before it is touched."""
        if not self._is_drained or self._clock() < self._note_at:
            self._heard_at = self._clock()
            return False  # waiting for the broker or the lot, with no note open
        frame, self._frame = self._frame or self._stream.read(), None
        if frame is None:
            if not self._intake.ledger.in_transaction:
                self._dispatch.caution.rest(self._clock(), self._intake.ledger.received_lsn)
            return False
        self._heard_at = self._clock()
        identity, caution = self._intake.identify(frame), self._dispatch.caution
        if identity is None:
            self._intake.take(frame)
            return True
        if caution.notebook.is_culprit(identity):
            self._take(self._intake.condemn(frame, caution.notebook.sentence(identity)))
            caution.found()
        elif self._wait_for(caution.notebook.open_note(identity)):
            self._take(self._intake.take(frame))
            self._survive()
            self._wait_for(caution.notebook.close_note())
            caution.passed()
            self._intake.reply_is_due = True  # confirm at once: the next run must not begin further back than needed
        else:
            self._frame, self._note_at = frame, self._clock() + _NOTE_SECONDS
        return True

    def _take(self, outcome: Outcome | None) -> None:
        if outcome is not None:
            self._hand_over(outcome)

    def _survive(self) -> None:
        """Whatever the record does to this process, it does now. A broker that does not answer is another matter."""
        deadline = self._clock() + SURVIVED_SECONDS
        while not self._is_drained and self._clock() < deadline:
            self._drain_turn()

    def _wait_for(self, future: Future[None]) -> bool:
        """Only here the loop waits for the helper; the status clock runs on."""
        while not future.done():
            self._bell.wait(0.05)
            self._bell.hush()
            self._heard_at = now = self._clock()
            self._standstill.forgive(now)
            self._report_if_due(now)
        try:
            future.result()
        except AwayError as exc:
            log.warning("note_failed", reason=exc.message)
            return False
        return True

    # -- settling and confirming

    def _settle(self, reports: Reports) -> None:
        self._dispatch.publisher.settle(reports)

    def _tend_dispatch(self, now: float, *, may_claim: bool) -> None:
        self._dispatch.tend(now, may_claim=may_claim)
        self._settled_at = max(self._settled_at, self._dispatch.settled_at)

    def _report_if_due(self, now: float) -> None:
        first = self._intake.ledger.safe_lsn and not self._confirmed
        if first or self._intake.reply_is_due or now >= self._status_at:
            self._intake.reply_is_due = False
            # A server with nothing to say answers only when asked: ask in time to tell silence from death.
            self._report(reply_requested=now - self._heard_at > self._timing.silence / 2)
            self._status_at = now + self._timing.status

    def _report(self, *, reply_requested: bool) -> None:
        ledger = self._intake.ledger
        flush_lsn = ledger.report()
        self._stream.send_status(write_lsn=ledger.received_lsn, flush_lsn=flush_lsn, reply_requested=reply_requested)
        self._confirmed = flush_lsn > 0

    def _read_to_commit(self, deadline: float) -> None:
        """A transaction of which only the Commit is unread would be delivered again whole: read that much."""
        if self._frame is not None:
            return  # nothing may be read behind it
        while self._intake.ledger.in_transaction and self._clock() < deadline:
            frame = self._stream.read()
            if frame is None:
                self._stream.wait(_NAP_SECONDS)
            elif self._intake.identify(frame) is not None:
                return  # half read: it comes again whole, and this frame with it
            else:
                self._intake.take(frame)

    def _shake_hands(self, deadline: float) -> None:
        """Closing with unread data loses the last confirmation, so read and discard until the server has answered it.

        Twice: a keepalive may have been on its way before our question; the second answers the first for certain.
        """
        for _ in range(2):
            self._report(reply_requested=True)
            while (frame := self._stream.read()) is None or frame[0] != wire.KEEPALIVE:
                if frame is None:
                    self._stream.wait(0.1)
                if self._clock() > deadline:
                    log.warning("no_goodbye", consequence="records confirmed last may be delivered again")
                    return

    # -- clocks

    def _notice_silence(self, now: float) -> None:
        if now - self._heard_at > self._timing.silence:
            raise SourceError(f"Postgres has been silent for {self._timing.silence:g} s: the line is taken for dead")

    def _tend_check(self, now: float) -> None:
        if self._checking is None:
            if now >= self._check_at:
                self._checking = self._check()
                self._idle_lsn_under_check = self._intake.idle_lsn
        elif self._checking.done():
            future, self._checking = self._checking, None
            self._check_at = now + self._timing.check
            self._conclude_check(future)

    def _conclude_check(self, future: Future[Any]) -> None:
        """An idle position is confirmed only when the publication was seen unchanged after it was received."""
        try:
            result: CheckResult = future.result()
        except AwayError as exc:
            log.warning("check_failed", reason=exc.message)
            return
        self._stats.slot_lag_bytes = result.lag_bytes
        if self._idle_lsn_under_check:
            self._intake.confirm_idle(self._idle_lsn_under_check)

    # -- what others see, and what ends it

    def _count(self, now: float) -> None:
        stats, window = self._stats, self._intake.window
        stats.last_turn_at = now
        stats.open_record_count, stats.open_bytes = window.record_count, window.byte_count

    def _observe(self, now: float) -> None:
        self._count(now)
        stats, window, intake = self._stats, self._intake.window, self._intake
        stats.transaction_count += intake.transaction_count
        stats.ignored_count += intake.ignored_count
        stats.change_count += intake.change_count
        stats.dropped_count += intake.dropped_count
        intake.transaction_count = intake.ignored_count = intake.change_count = intake.dropped_count = 0
        stats.sink_error = self._sink.error
        if not window.record_count:
            self._settled_at = now
        stats.last_settled_at = self._settled_at
        if self._dispatch.trouble:
            self._enter(State.HOLDING, f"the lot: {self._dispatch.trouble}")
        elif self._is_holding(now):
            self._enter(State.HOLDING, self._sink.error or "the broker acknowledges nothing")
        else:
            self._enter(State.STREAMING)

    def _is_holding(self, now: float) -> bool:
        return now - self._settled_at > self._timing.hold

    def _enter(self, state: State, reason: str = "") -> None:
        if self._stats.enter(state, reason):
            log.info("state", state=str(state), reason=reason or None)

    def _find_end(self, now: float) -> End | None:
        if self._stop.requested:
            return End.STOPPED
        if self._server_is_leaving():
            return End.LEAVING
        window, intake = self._intake.window, self._intake
        if window.is_full and now - self._settled_at >= self._timing.release:
            # Not for the lot's sake: what was published behind the unparked record would be published again each time.
            return End.RELEASED if self._dispatch.is_waiting_for_broker else None
        if intake.largest_frame_bytes > _LARGE_FRAME_BYTES and self._is_drained and self._frame is None:
            return None if intake.ledger.in_transaction else End.REFRESH
        return None
