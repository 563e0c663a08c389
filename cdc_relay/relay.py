"""The relay's life: wait for what is away, stream until something ends it, recover, stop cleanly.

The loop itself is session/; here is what happens between two sessions. Concrete classes come from wiring.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

import structlog

from cdc_relay.errors import AwayError, DrainError, RelayError, SinkError, SlotInUseError, SourceError
from cdc_relay.helper import Helper
from cdc_relay.parking.entry import Inventory
from cdc_relay.parking.lot import Lot
from cdc_relay.patience import Patience
from cdc_relay.session.session import End, Session
from cdc_relay.session.source import Source
from cdc_relay.session.stream import Stream
from cdc_relay.session.timing import Timing
from cdc_relay.sinks.sink import Sink
from cdc_relay.stats import State, Stats
from cdc_relay.stop import Stop

__all__ = ["Relay"]

log = structlog.get_logger()
T = TypeVar("T")

_STANDBY_SECONDS = 1.0
_END_SECONDS = 10.0
_LEAVE_SECONDS = 1.0  # what a shutting-down Postgres is asked to wait for open records


class Relay:
    """One slot, one sink, one process."""

    def __init__(
        self,
        *,
        source: Source,
        sink: Sink,
        lot: Lot,
        helper: Helper,
        make_session: Callable[[Stream, Inventory, int], Session],
        on_streaming: Callable[[], None],
        stats: Stats,
        stop: Stop,
        timing: Timing,
        wait: bool,
    ) -> None:
        self._source = source
        self._sink = sink
        self._lot = lot
        self._helper = helper
        self._make_session = make_session
        self._on_streaming = on_streaming
        self._stats = stats
        self._stop = stop
        self._timing = timing
        self._may_wait = wait
        self._patience = Patience(stats, stop)
        self._released = False  # the line is closed until the broker answers
        self._has_begun = False  # this process has read the slot before

    def run(self) -> None:
        """Returns when it was asked to stop and everything is settled; raises what an operator has to know.

        Any other exception is a death like a kill: perhaps a record's doing, so it must not look like an orderly end.
        """
        try:
            while not self._stop.requested:
                self._live()
        except RelayError:
            self._end_run()
            raise
        self._end_run()

    def _live(self) -> None:
        """One line, until it ends. A producer that breaks while we wait is replaced: it is not away."""
        try:
            stream = self._open()
            if stream is not None:
                self._begin(stream)
        except SinkError as exc:
            self._sink.reset()
            self._recover(exc, time.monotonic())

    def _end_run(self) -> None:
        """Waited for, because a probe may be before it in the line: else an orderly stop would look like a death."""
        if not self._has_begun:
            return
        future = self._helper.submit(self._lot.end_run)
        with suppress(RelayError, FutureTimeout):
            future.result(timeout=_END_SECONDS)

    # -- getting there

    def _open(self) -> Stream | None:
        state = State.WAITING
        try:
            if (checkup := self._await(self._source.preflight)) is not None:
                self._stats.see_slot(checkup.lag_bytes, checkup.room_bytes)
            state = State.RELEASED if self._released else State.WAITING
            self._probe_sink()
            self._await(self._lot.open)
            state, self._released = State.WAITING, False
            stream = self._await(self._source.open)
        except (AwayError, SourceError) as exc:
            self._wait_for(exc, State.STANDBY if isinstance(exc, SlotInUseError) else state)
            return None
        return stream

    def _begin(self, stream: Stream) -> None:
        """Only the reader of the slot may touch what the lot has for it."""
        try:
            taken = self._await(self._take_over)
        except BaseException as exc:
            stream.close()
            if not isinstance(exc, AwayError):
                raise
            self._wait_for(exc, State.WAITING)
            return
        if taken is None:
            stream.close()
            return
        self._may_wait = True  # --no-wait is about the start
        self._stream(stream, *taken)

    def _take_over(self) -> tuple[Inventory, int]:
        """After a failover the lot may have records beyond the end of this server's WAL: those never come again."""
        confirmed_lsn, end_lsn, ceiling_lsn = self._source.take_over()
        inventory = self._lot.take_over(confirmed_lsn)
        self._has_begun = True
        identities = frozenset(each for each in inventory.identities if each[1] <= end_lsn)
        return replace(inventory, identities=identities, end_lsn=end_lsn), ceiling_lsn

    def _probe_sink(self) -> None:
        try:
            self._await(self._sink.probe)
        except AwayError as exc:
            cause = f"{exc.message} ({self._sink.error})" if self._sink.error else exc.message
            raise AwayError(cause, remedy=exc.remedy) from exc
        self._stats.sink_error = self._sink.error = ""  # it answers again

    def _await(self, job: Callable[[], T]) -> T | None:
        """Let the helper do it while the loop turns; None when asked to stop meanwhile."""
        if self._stop.requested:
            return None
        future = self._helper.submit(job)
        while not self._stop.requested:
            self._stats.last_turn_at = time.monotonic()
            self._sink.poll(0)  # serves error_cb: the cause of a broker's silence
            self._stats.sink_error, self._stats.sink_statistics = self._sink.error, self._sink.statistics
            try:
                return future.result(timeout=0.05)
            except FutureTimeout:
                if future.done():
                    raise
        return None

    def _wait_for(self, exc: RelayError, state: State) -> None:
        if not self._may_wait:
            raise AwayError(
                exc.message, remedy=exc.remedy or "try again later, or let the relay wait: without --no-wait"
            )
        self._enter(state, exc.message)
        if state is State.STANDBY:
            self._stand_by()
        else:
            self._patience.pause()

    def _stand_by(self) -> None:
        """Until the slot is free, or nobody can tell: then everything is looked at again."""
        while not self._stop.requested:
            self._patience.wait(_STANDBY_SECONDS)
            try:
                if self._await(self._source.is_free):
                    return
            except AwayError:
                return

    # -- being there

    def _stream(self, stream: Stream, inventory: Inventory, ceiling_lsn: int) -> None:
        session = self._make_session(stream, inventory, ceiling_lsn)
        started, lost = time.monotonic(), None
        self._enter(State.STREAMING)
        try:
            self._on_streaming()
            self._conclude(session, session.run())
        except (SourceError, SinkError) as exc:
            lost = exc.with_traceback(None)  # whose frames would keep the session
        finally:
            self._sink.reset()  # first: what is queued will be read again, perhaps by another process already
            session.close()
            self._stats.open_record_count = self._stats.open_bytes = 0
        del session
        gc.collect()  # its parts know each other, and the collector seldom looks
        if lost is not None:
            self._recover(lost, started)

    def _conclude(self, session: Session, end: End) -> None:
        match end:
            case End.STOPPED:
                self._part_for_good(session)
            case End.LEAVING:
                self._enter(State.WAITING, "Postgres is shutting down")
                session.part(_LEAVE_SECONDS)
            case End.RELEASED:
                self._released = True
                self._enter(State.RELEASED, f"line closed: {self._sink.error or 'the broker acknowledges nothing'}")
            case End.REFRESH:
                session.part(0)

    def _part_for_good(self, session: Session) -> None:
        self._enter(State.STOPPING)
        try:
            left = session.part(self._timing.drain)
        except (SourceError, SinkError) as exc:
            raise DrainError(
                f"stopped before Postgres had heard the last confirmation: {exc.message}; what it has not heard of is"
                " published again at the next start",
                remedy="nothing is lost",
            ) from exc
        if left:
            raise DrainError(
                f"stopped with {left} records unsettled after {self._timing.drain:g} s: they will be published again at"
                " the next start",
                remedy="nothing is lost; see why the broker or the lot is slow, or raise delivery.drain",
            )

    def _recover(self, exc: RelayError, started: float) -> None:
        self._stats.reconnect_count += 1
        self._enter(State.WAITING, exc.message)
        self._patience.renew_after(time.monotonic() - started)
        self._patience.pause()

    def _enter(self, state: State, reason: str = "") -> None:
        if self._stats.enter(state, reason):
            log.info("state", state=str(state), reason=reason or None)
