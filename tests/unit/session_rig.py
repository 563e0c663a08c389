"""A session with every seam faked and a clock that only moves when the loop waits."""

from __future__ import annotations

import select

from cdc_relay.bell import Bell
from cdc_relay.delivery.intake import Intake
from cdc_relay.delivery.twins import Window
from cdc_relay.dispatch.dispatch import Dispatch, DispatchOptions
from cdc_relay.model import Unroutable
from cdc_relay.parking.entry import Claim, Inventory
from cdc_relay.routing.router import Outbox, Router
from cdc_relay.session.session import End, Session
from cdc_relay.session.timing import Timing
from cdc_relay.stats import Stats
from cdc_relay.stop import Stop
from tests.unit import frames
from tests.unit.dispatch_rig import POISON
from tests.unit.fake_lot import FakeJobs, FakeLot
from tests.unit.fakes import FakeChecks, FakeClock, FakeGuard, FakeSink, FakeStream

__all__ = ["ALIVE", "OUTBOX", "Line", "SessionRig", "row", "transaction"]

OUTBOX = Outbox("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload")
ALIVE = frames.keepalive(0)
TIMING = Timing(silence=5, status=1, check=10, hold=5, release=60, drain=30)


def row(number: int) -> bytes:
    return frames.insert(str(number).encode(), b"order", b"k", b"Placed", b"{}")


def transaction(end_lsn: int, *numbers: int) -> list[bytes]:
    return [frames.begin(end_lsn - 1), frames.relation(), *map(row, numbers), frames.commit(end_lsn)]


def _is_heard(other: Stop | Bell) -> bool:
    return bool(select.select([other.fileno()], [], [], 0)[0])


class FakeBell(Bell):
    """Who waits for it waits on the fake clock, unless it was rung; `wait_count` is how often somebody did."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self.wait_count = 0
        self._clock = clock

    def wait(self, timeout_seconds: float) -> None:
        self.wait_count += 1
        if not _is_heard(self):
            self._clock.now += timeout_seconds


class Line(FakeStream):
    """A stream that is waited for beside other things."""

    def wait(self, timeout_seconds: float, *others: Stop | Bell) -> None:
        if not any(_is_heard(other) for other in others):
            self._clock.now += timeout_seconds


class SessionRig:
    """One line's session, turned by the test."""

    def __init__(
        self,
        *stream: bytes,
        eager: bool = False,
        records: int = 100,
        outbox: Outbox = OUTBOX,
        answer: bytes | None = ALIVE,
        lot: FakeLot | None = None,
        make_window: type[Window] = Window,
    ) -> None:
        self.clock = FakeClock()
        self.stream = Line(self.clock, *stream, answer=answer)
        self.sink = FakeSink(self.clock, eager=eager)
        self.checks = FakeChecks()
        self.jobs = FakeJobs(eager=True)
        self.lot = lot or FakeLot(lambda: self.clock.now)
        self.lot.clock = lambda: self.clock.now
        self.bell = FakeBell(self.clock)
        self.jobs.on_done = self.bell.ring
        self.stop = Stop()
        self.stats = Stats()
        self.leaving = False
        inventory = self.lot.take_over(0)
        self.guard = FakeGuard()
        window = make_window(record_limit=records, byte_limit=1 << 20)
        self.intake = Intake(Router([outbox]), window, inventory.identities)
        self.dispatch = self._make_dispatch(inventory)
        self.session = self._make_session()

    def _make_dispatch(self, inventory: Inventory) -> Dispatch:
        return Dispatch(
            self.intake,
            self.sink,
            self.lot,
            submit=self.jobs.submit,
            inventory=inventory,
            route_again=route_nowhere,
            stats=self.stats,
            options=DispatchOptions(),
            now=self.clock.now,
        )

    def _make_session(self) -> Session:
        return Session(
            self.stream,
            self.intake,
            sink=self.sink,
            dispatch=self.dispatch,
            check=self.checks,
            raise_ceiling=self.guard,
            server_is_leaving=lambda: self.leaving,
            stats=self.stats,
            stop=self.stop,
            bell=self.bell,
            timing=TIMING,
            clock=self.clock,
        )

    def turn(self, count: int = 1) -> End | None:
        for _ in range(count):
            if (end := self.session._turn()) is not None:
                return end
        return None

    def run_until(self, seconds: float) -> End | None:
        deadline = self.clock.now + seconds
        while self.clock.now < deadline:
            if (end := self.session._turn()) is not None:
                return end
        return None

    @property
    def confirmed(self) -> int:
        return self.stream.statuses[-1].flush_lsn if self.stream.statuses else 0


def route_nowhere(claim: Claim) -> Unroutable:
    return Unroutable(POISON, claim.columns or [], claim.policy)
