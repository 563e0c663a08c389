"""The loop: one replication line, read, published, settled and confirmed, until it ends.

Runs on one thread. It knows stream, sink and checks as Protocols only, and every LSN in it dies with it. What becomes
of a record between reading and settling is the affair of `dispatch`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum, auto

from cdc_relay.bell import Bell
from cdc_relay.delivery.intake import Intake
from cdc_relay.dispatch.dispatch import Dispatch
from cdc_relay.model import Record
from cdc_relay.session.careful_reader import CarefulReader
from cdc_relay.session.ceiling import Ceiling, Raise
from cdc_relay.session.drain import Drain
from cdc_relay.session.pace import Pace
from cdc_relay.session.parting import Parting
from cdc_relay.session.progress import Progress
from cdc_relay.session.pulse import Pulse
from cdc_relay.session.stages import Stages
from cdc_relay.session.stream import Stream
from cdc_relay.session.timing import Timing
from cdc_relay.session.watch import Check, Watch
from cdc_relay.sinks.sink import Reports, Sink
from cdc_relay.standstill import Standstill
from cdc_relay.stats import Stats
from cdc_relay.stop import Stop

__all__ = ["End", "Session"]

_GULP_FRAMES = 500  # between two looks at the producer: 2 ms of work, 8 ms in Python
_BEHIND_US = 50_000  # a transaction sent later than this after its commit: we are behind, so gather
_NAP_SECONDS = 0.005  # while behind, on an empty socket: the walsender then sends in bulk instead of row by row
_FLUSH_SECONDS = 0.005  # caught up: send at once and wait for the report; what comes meanwhile goes together
_FULL_SECONDS = 0.005  # behind: nothing is read before something has settled
_REQUEST_BYTES = 1_000_000  # librdkafka's batch.size: with more than that open some requests are full, and on their way
_ROOM_SECONDS = 0.001  # for the reports of those, before the others are flushed
_PUSH_SECONDS = 0.002  # of that flush: two producers may have to share it, and less than 1 ms each does nothing
_HOLD_SECONDS = 0.05
_LARGE_FRAME_BYTES = 16 << 20  # libpq's buffer stays grown after such a frame until the line is closed


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
        raise_ceiling: Raise,
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
        self._server_is_leaving = server_is_leaving
        self._stop = stop
        self._bell = bell  # the helper has finished something
        self._clock = clock
        self._has_read = False  # in the latest look, if only a part of a frame
        self._pace = Pace(clock)
        now = clock()
        self._standstill = Standstill(now, timing.silence)
        self._ceiling = Ceiling(intake.ledger, raise_ceiling, now=now)
        self._pulse = Pulse(stream, intake, self._ceiling, timing, now=now)
        self._watch = Watch(check, intake, stats=stats, pause_seconds=timing.check, now=now)
        self._progress = Progress(intake, dispatch, sink, ceiling=self._ceiling, stats=stats, timing=timing, now=now)
        self._build_ways(stats)

    def _build_ways(self, stats: Stats) -> None:
        """Other than a turn: to read with a watch, to read with care, to read no more, to leave."""
        stream, intake, dispatch, pulse, clock = self._stream, self._intake, self._dispatch, self._pulse, self._clock
        self._stages = Stages(intake, dispatch.publisher.offer, stats.counters)
        self._drain = Drain(
            intake,
            dispatch,
            self._sink,
            pulse=pulse,
            ceiling=self._ceiling,
            progress=self._progress,
            bell=self._bell,
            clock=clock,
        )
        self._parting = Parting(stream, intake, dispatch, drain=self._drain, pulse=pulse, clock=clock)
        self._careful_reader = CarefulReader(
            stream,
            intake,
            dispatch,
            drain=self._drain,
            pulse=pulse,
            standstill=self._standstill,
            bell=self._bell,
            clock=clock,
        )

    def run(self) -> End:
        self._pulse.report_if_due(self._clock())  # before anything is read: a new line begins with flush 0
        while True:
            end = self._turn()
            if end is not None:
                return end

    def part(self, drain_seconds: float) -> int:
        """Hand out nothing new, drain, and make sure that Postgres has heard the last confirmation; what is left."""
        return self._parting.part(drain_seconds, may_read=not self._careful_reader.has_frame)

    def close(self) -> None:
        self._stream.close()

    def _turn(self) -> End | None:
        now = self._pace.wait_for_next()
        self._standstill.notice(now)
        self._dispatch.traffic.now = now
        more = self._careful_reader.gulp() if self._dispatch.caution.is_on else self._gulp(now)
        self._pace.is_hurried = more or self._dispatch.lanes.waiting_count > 0
        self._dispatch.returns.settle(self._await_reports(more, now))
        may_claim = not (self._progress.is_holding(now) and self._dispatch.is_waiting_for_broker)
        self._dispatch.tend(self._clock(), may_claim=may_claim, is_behind=self._is_behind)
        self._progress.update()
        self._watch.tend(now)
        self._pulse.notice_silence(now)
        self._pulse.report_if_due(now)
        self._stages.note_confirmation(now, self._pulse.confirmed_lsn)
        self._progress.observe(now)
        return self._find_end(now)

    # -- reading and publishing

    def _gulp(self, now: float) -> bool:
        """Read what the socket has, within the window. True while there is more."""
        read, take, offer = self._stream.read, self._intake.take, self._dispatch.publisher.offer
        window, stages = self._intake.window, self._stages
        if stages.is_due(now):
            take, offer = stages.take, stages.offer
        if self._dispatch.is_paused:
            self._pulse.heard_at = self._clock()  # unheard while we do not listen is no silence
            self._has_read = False
            return True
        self._has_read = True
        for count in range(_GULP_FRAMES):
            frame = None if window.is_full else read()
            if frame is None:
                self._has_read = count > 0 or self._stream.is_receiving
                if self._has_read or window.is_full:
                    self._pulse.heard_at = self._clock()
                return window.is_full
            outcome = take(frame)
            frame = None  # a very large one must not live on beside the producer's copy of it
            if outcome is None:
                continue
            routed, ticket = outcome
            if type(routed) is Record:
                offer(routed, ticket)
            else:
                self._dispatch.hand_over(outcome)
        self._pulse.heard_at = self._clock()
        return True

    # -- waiting

    def _await_reports(self, more: bool, now: float) -> Reports:
        """Behind: gather. Caught up: send at once. Nothing out: sleep until somebody or a clock calls."""
        if not self._dispatch.is_waiting_for_broker:
            return self._sleep(more, now)
        if self._dispatch.lanes.waiting_count:  # a strict key waits for each of its records
            return self._sink.flush(self._patience(now, _FLUSH_SECONDS))
        if self._intake.window.is_full or self._dispatch.is_paused:
            return self._await_room(now)
        if more:
            return self._sink.poll(0)
        if self._is_behind:
            time.sleep(_NAP_SECONDS)
            return self._sink.poll(0)
        return self._sink.flush(self._patience(now, _FLUSH_SECONDS))

    def _await_room(self, now: float) -> Reports:
        """Nothing more can join what lingers, but what is out may make room before it is flushed: while a flush lasts,
        librdkafka spins over whatever has no place in a request yet, 0.2 ms of CPU per row of 100 kB."""
        poll, flush, full_seconds = self._sink.poll, self._sink.flush, self._patience(now, _FULL_SECONDS)
        if self._intake.window.byte_count < _REQUEST_BYTES:
            return flush(full_seconds)
        for look, seconds in ((poll, _ROOM_SECONDS), (flush, _PUSH_SECONDS), (poll, full_seconds)):
            reports = look(seconds)
            if reports.delivered or reports.failed:
                break
        return reports

    @property
    def _is_behind(self) -> bool:
        """And more comes: else what lingers would wait for nobody."""
        return self._has_read and self._intake.lag_us > _BEHIND_US

    def _sleep(self, more: bool, now: float) -> Reports:
        if self._intake.window.is_full or self._dispatch.is_paused:
            self._bell.wait(_FULL_SECONDS)  # only the helper can help
        elif not more and not self._dispatch.entrance.parks.is_ready:
            self._stream.wait(max(0.0, self._next_clock() - now), self._stop, self._bell)
        self._bell.hush()
        return self._sink.poll(0)

    def _next_clock(self) -> float:
        clocks = [self._pulse.due_at]
        clocks += [due_at for due_at in (self._watch.due_at, self._dispatch.due_at) if due_at is not None]
        if not self._drain.is_empty:
            clocks.append(self._clock() + _HOLD_SECONDS)
        return min(clocks)

    def _patience(self, now: float, seconds: float) -> float:
        """While we hold there is no hurry, and no sense in turning a thousand times a second."""
        return _HOLD_SECONDS if self._progress.is_holding(now) else seconds

    # -- what ends it

    def _find_end(self, now: float) -> End | None:
        if self._stop.requested:
            return End.STOPPED
        if self._server_is_leaving():
            return End.LEAVING
        if self._progress.is_stuck(now):
            # Not for the lot's sake: what was published behind the unparked record would be published again each time.
            return End.RELEASED if self._dispatch.is_waiting_for_broker else None
        is_large = self._intake.largest_frame_bytes > _LARGE_FRAME_BYTES
        if is_large and self._drain.is_empty and not self._careful_reader.has_frame:
            return None if self._intake.ledger.in_transaction else End.REFRESH
        return None
