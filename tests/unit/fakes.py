"""In-memory stand-ins for the loop's seams, with a clock that moves only when something waits."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass

from cdc_relay.model import Failure, Record, Ticket
from cdc_relay.sinks.sink import Reports
from cdc_relay.stop import Stop

__all__ = ["FakeChecks", "FakeClock", "FakeSink", "FakeStream", "Status"]


class FakeClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        self.now += 0.0001  # looking at the time takes time, or a loop that never waits would never end
        return self.now


@dataclass(frozen=True)
class Status:
    write_lsn: int
    flush_lsn: int
    reply_requested: bool


class FakeStream:
    """Frames are served in order; a status update that asks for a reply is answered like a walsender would."""

    def __init__(self, clock: FakeClock, *frames: bytes, answer: bytes | None = None) -> None:
        self.frames = deque(frames)
        self.statuses: list[Status] = []
        self.read_count = 0
        self.closed = False
        self.is_receiving = False
        self._clock = clock
        self._answer = answer

    def read(self) -> bytes | None:
        self.read_count += 1
        return self.frames.popleft() if self.frames else None

    def send_status(self, *, write_lsn: int, flush_lsn: int, reply_requested: bool = False) -> None:
        self.statuses.append(Status(write_lsn, flush_lsn, reply_requested))
        if reply_requested and self._answer is not None:
            self.frames.append(self._answer)

    def wait(self, timeout_seconds: float, stop: Stop | None = None) -> None:
        self._clock.now += timeout_seconds

    def close(self) -> None:
        self.closed = True


class FakeSink:
    """Acknowledges when told to, or at once with `eager`."""

    def __init__(self, clock: FakeClock, *, eager: bool = False) -> None:
        self.error = ""
        self.eager = eager
        self.published: list[Record] = []
        self.open: list[Ticket] = []
        self.failed: list[tuple[Ticket, Failure]] = []
        self._clock = clock

    def publish(self, record: Record, ticket: Ticket) -> None:
        self.published.append(record)
        self.open.append(ticket)

    def poll(self, timeout_seconds: float) -> Reports:
        self._clock.now += timeout_seconds
        delivered, self.open = (self.open, []) if self.eager else ([], self.open)
        failed, self.failed = self.failed, []
        return Reports(delivered, failed)

    def flush(self, timeout_seconds: float) -> Reports:
        return self.poll(timeout_seconds)

    def reset(self) -> None:
        self.open = []

    def probe(self) -> None:
        return None

    def close(self) -> None:
        return None


@dataclass(frozen=True)
class FakeCheckup:
    lag_bytes: int | None = 0


class FakeChecks:
    """Checks that finish when the test says so."""

    def __init__(self) -> None:
        self.futures: list[Future[FakeCheckup]] = []

    def __call__(self) -> Future[FakeCheckup]:
        self.futures.append(Future())
        return self.futures[-1]
