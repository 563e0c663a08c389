"""In-memory stand-ins for the loop's seams, with a clock that moves only when something waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from cdc_relay.bell import Bell
from cdc_relay.errors import AwayError, RelayError, SinkError
from cdc_relay.model import Failure, Record
from cdc_relay.sinks.sink import Emptied, Reject, Reports, Slip, TopicLimits
from cdc_relay.stop import Stop

__all__ = ["FakeChecks", "FakeClock", "FakeGuard", "FakeSink", "FakeStream", "Status"]


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

    def wait(self, timeout_seconds: float, *others: Stop | Bell) -> None:
        self._clock.now += timeout_seconds

    def close(self) -> None:
        self.closed = True


class FakeGuard:
    """Writes ceilings down at once, unless it is to be slow or is in trouble."""

    def __init__(self) -> None:
        self.ceilings: list[int] = []
        self.slow: list[Future[None]] | None = None
        self.trouble: RelayError | None = None

    def __call__(self, lsn: int) -> Future[None]:
        self.ceilings.append(lsn)
        future: Future[None] = Future()
        if self.trouble is not None:
            future.set_exception(self.trouble)
        elif self.slow is not None:
            self.slow.append(future)
        else:
            future.set_result(None)
        return future


class FakeSink:
    """Acknowledges when told to, or at once with `eager`; rejects what `verdict` finds a failure for.

    `open` are the slips that are out, in the order in which they were handed out.
    """

    def __init__(self, clock: FakeClock, *, eager: bool = False) -> None:
        self.error = ""
        self.eager = eager
        self.verdict: Callable[[Record], Failure | None] = lambda record: None
        self.published: list[Record] = []
        self.alone: list[Record] = []  # those of them that travelled alone
        self.open: list[Slip] = []
        self.failed: list[Reject] = []
        self.sick_topics: dict[str, Failure] = {}
        self.limits: dict[str, TopicLimits] = {}
        self.fixed_limits: dict[str, TopicLimits] = {}
        self.statistics = ""
        self.away = ""  # why the probes get no answer
        self.broken = ""  # why every call but reset() fails
        self.waits: list[tuple[str, float]] = []  # how it was asked for reports, and for how long
        self._delivered: list[Slip] = []
        self._records: dict[int, tuple[Record, bool]] = {}  # by id() of the slip
        self._clock = clock

    def publish(self, record: Record, slip: Slip) -> None:
        self._hand_out(record, slip, is_alone=False)

    def publish_alone(self, record: Record, slip: Slip) -> None:
        self._hand_out(record, slip, is_alone=True)
        self.alone.append(record)

    def reject(self, slip: Slip, failure: Failure) -> None:
        """The next look brings this verdict."""
        self.open = [each for each in self.open if each is not slip]
        record, is_alone = self._records.pop(id(slip))
        self.failed.append(Reject(slip, record, failure, is_alone))

    def acknowledge(self, slip: Slip) -> None:
        """The next look brings it as delivered."""
        self.open = [each for each in self.open if each is not slip]
        del self._records[id(slip)]
        self._delivered.append(slip)

    @property
    def flush_count(self) -> int:
        return sum(kind == "flush" for kind, _ in self.waits)

    def poll(self, timeout_seconds: float) -> Reports:
        return self._wait("poll", timeout_seconds)

    def flush(self, timeout_seconds: float) -> Reports:
        return self._wait("flush", timeout_seconds)

    def _wait(self, kind: str, seconds: float) -> Reports:
        self.waits.append((kind, seconds))
        self._clock.now += seconds
        return self._report()

    def empty(self) -> Emptied:
        reports = self._report()
        purged = [(slip, self._records[id(slip)][0]) for slip in self.open]
        self._forget()
        return Emptied(reports, purged)

    def reset(self) -> None:
        self.broken = ""
        self._forget()

    def probe(self) -> None:
        if self.away:
            raise AwayError(self.away)

    def read_limits(self, topics: Sequence[str]) -> dict[str, TopicLimits]:
        return {topic: self.limits[topic] for topic in topics if topic in self.limits}

    def probe_topic(self, topic: str) -> Failure | None:
        self.probe()
        return self.sick_topics.get(topic)

    def close(self) -> None:
        return None

    def _hand_out(self, record: Record, slip: Slip, *, is_alone: bool) -> None:
        self._fail_if_broken()
        self.published.append(record)
        self.open.append(slip)
        self._records[id(slip)] = record, is_alone

    def _report(self) -> Reports:
        self._fail_if_broken()
        for slip in list(self.open):
            failure = self.verdict(self._records[id(slip)][0])
            if failure is not None:
                self.reject(slip, failure)
            elif self.eager:
                self.acknowledge(slip)
        reports = Reports(self._delivered, self.failed)
        self._delivered, self.failed = [], []
        return reports

    def _fail_if_broken(self) -> None:
        if self.broken:
            raise SinkError(self.broken)

    def _forget(self) -> None:
        self.open, self.failed, self._delivered = [], [], []
        self._records.clear()


@dataclass(frozen=True)
class FakeCheckup:
    lag_bytes: int | None = 0
    room_bytes: tuple[int, int] | None = None


class FakeChecks:
    """Checks that finish when the test says so."""

    def __init__(self) -> None:
        self.futures: list[Future[FakeCheckup]] = []

    def __call__(self) -> Future[FakeCheckup]:
        self.futures.append(Future())
        return self.futures[-1]
