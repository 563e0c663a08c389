"""The loop: one replication line, read, published, settled and confirmed, until it ends.

Runs on one thread. It knows stream, sink, lot and checks as Protocols only, and every LSN in it dies with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol

import structlog

from cdc_relay.delivery.intake import Intake
from cdc_relay.errors import AwayError, RecordRefusedError, SourceError
from cdc_relay.model import Failure
from cdc_relay.parking.lot import Lot, Reject
from cdc_relay.protocol import wire
from cdc_relay.sinks.sink import Reports, Sink
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
_LARGE_FRAME_BYTES = 16 << 20  # libpq's buffer stays grown after such a frame until the line is closed


class Stream(Protocol):
    is_receiving: bool  # bytes had arrived when `read` last found no whole frame

    def read(self) -> bytes | memoryview | None: ...

    def send_status(self, *, write_lsn: int, flush_lsn: int, reply_requested: bool = False) -> None: ...

    def wait(self, timeout_seconds: float, stop: Stop | None = None) -> None: ...

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
        lot: Lot,
        check: Check,
        server_is_leaving: Callable[[], bool],
        stats: Stats,
        stop: Stop,
        timing: Timing,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._intake = intake
        self._sink = sink
        self._lot = lot
        self._check = check
        self._server_is_leaving = server_is_leaving
        self._stats = stats
        self._stop = stop
        self._timing = timing
        self._clock = clock
        now = clock()
        self._turned_at = self._heard_at = self._settled_at = now
        self._status_at = now  # the first one at once: flush 0, so that the server knows we are here
        self._check_at = now + timing.check
        self._confirmed = False  # the first confirmation does not wait for the clock: a short session must get on too
        self._checking: Future[Any] | None = None
        self._idle_lsn_under_check = 0
        self._parking: list[tuple[Future[None], list[Reject]]] = []
        self._parted = False
        self._rejects: list[Reject] = []
        self._refused: list[Reject] = []

    def run(self) -> End:
        while True:
            end = self._turn()
            if end is not None:
                return end

    def part(self, drain_seconds: float) -> int:
        """Hand out nothing new, drain, and make sure that Postgres has heard the last confirmation; what is left."""
        deadline = self._clock() + drain_seconds
        if not self._parted:  # a row may have been read and dropped the first time: never read on behind it
            self._parted = True
            self._read_to_commit(self._clock() + min(drain_seconds, _COMMIT_SECONDS))
        while self._intake.window.record_count > self._stuck_count and self._clock() < deadline:
            self._settle(self._sink.flush(0.05))
            if not self._refused:
                self._tend_parking()
            self._report_if_due(self._clock())
            self._count(self._clock())
        self._shake_hands(self._clock() + _HANDSHAKE_SECONDS)
        return self._intake.window.record_count

    def close(self) -> None:
        self._stream.close()

    def _turn(self) -> End | None:
        now = self._clock()
        self._notice_pause(now)
        more = self._gulp()
        self._settle(self._await_reports(more, now))
        self._tend_parking()
        self._tend_check(now)
        self._notice_silence(now)
        self._report_if_due(now)
        self._observe(now)
        return self._find_end(now)

    # -- reading and publishing

    def _gulp(self) -> bool:
        """Read what the socket has, within the window. True while there is more."""
        read, take, publish = self._stream.read, self._intake.take, self._sink.publish
        window = self._intake.window
        for count in range(_GULP_FRAMES):
            frame = None if window.is_full else read()
            if frame is None:
                if count or window.is_full or self._stream.is_receiving:  # unheard while we do not listen is no silence
                    self._heard_at = self._clock()
                return window.is_full
            outcome = take(frame)
            frame = None  # a very large one must not live on beside the producer's copy of it
            if outcome is None:
                continue
            routed, ticket = outcome
            if isinstance(routed, Failure):
                self._rejects.append(Reject(ticket, routed))
            else:
                publish(routed, ticket)
        self._heard_at = self._clock()
        return True

    def _await_reports(self, more: bool, now: float) -> Reports:
        """Behind: gather. Caught up: send at once. Nothing open: sleep on the socket until the next clock."""
        window = self._intake.window
        if window.is_full:
            return self._sink.flush(self._patience(now, _FULL_SECONDS))  # nothing more can join what lingers
        if more:
            return self._sink.poll(0)
        if not window.record_count:
            due = self._status_at if self._checking else min(self._status_at, self._check_at)
            self._stream.wait(max(0.0, due - now), self._stop)
            return self._sink.poll(0)
        if self._intake.lag_us > _BEHIND_US:
            time.sleep(_NAP_SECONDS)
            return self._sink.poll(0)
        return self._sink.flush(self._patience(now, _FLUSH_SECONDS))

    def _patience(self, now: float, seconds: float) -> float:
        """While we hold there is no hurry, and no sense in turning a thousand times a second."""
        return seconds if now - self._settled_at < self._timing.hold else _HOLD_SECONDS

    # -- settling and confirming

    def _settle(self, reports: Reports) -> None:
        settle, stats = self._intake.settle, self._stats
        for ticket in reports.delivered:
            settle(ticket)
            stats.published_bytes += ticket.size_bytes
        if reports.delivered:
            stats.published_count += len(reports.delivered)
            self._settled_at = self._clock()
        for ticket, failure in reports.failed:
            self._rejects.append(Reject(ticket, failure))

    def _tend_parking(self) -> None:
        """Rejects are settled when the lot has them durably, not before."""
        if self._rejects:
            self._parking.append((self._lot.park(self._rejects), self._rejects))
            self._rejects = []
        while self._parking and self._parking[0][0].done():
            future, rejects = self._parking.pop(0)
            try:
                future.result()
            except RecordRefusedError:
                self._refused = rejects
                raise
            for reject in rejects:
                self._intake.settle(reject.ticket)
            self._settled_at = self._clock()

    @property
    def _stuck_count(self) -> int:
        """After a refusal nothing is parked any more: the first one is what the operator has to hear of."""
        if not self._refused:
            return 0
        return len(self._refused) + len(self._rejects) + sum(len(rejects) for _, rejects in self._parking)

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
        while self._intake.ledger.in_transaction and self._clock() < deadline:
            frame = self._stream.read()
            if frame is None:
                self._stream.wait(_NAP_SECONDS)
            elif self._intake.is_row(frame):
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

    def _notice_pause(self, now: float) -> None:
        """A process that stood still may have been replaced: publish nothing more on this line."""
        paused, self._turned_at = now - self._turned_at, now
        if paused > self._timing.silence:
            raise SourceError(f"this process stood still for {paused:.1f} s: the replication line cannot be trusted")

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
        intake.transaction_count = intake.ignored_count = 0
        stats.sink_error = self._sink.error
        if not window.record_count:
            self._settled_at = now
        stats.last_settled_at = self._settled_at
        if now - self._settled_at > self._timing.hold:
            self._enter(State.HOLDING, self._sink.error or "the broker acknowledges nothing")
        else:
            self._enter(State.STREAMING)

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
            return End.RELEASED
        if intake.largest_frame_bytes > _LARGE_FRAME_BYTES and not window.record_count:
            return None if intake.ledger.in_transaction else End.REFRESH
        return None
