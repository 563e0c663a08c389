"""A relay between fakes that fail as scripted; sleeping is instant, and what was called is remembered in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

from cdc_relay.errors import RelayError
from cdc_relay.helper import Helper
from cdc_relay.model import Identity, Standing
from cdc_relay.parking.entry import Inventory
from cdc_relay.relay import Relay
from cdc_relay.session.session import End, Session
from cdc_relay.session.stream import Stream
from cdc_relay.session.timing import Timing
from cdc_relay.sinks.sink import Reports
from cdc_relay.stats import State, Stats
from cdc_relay.stop import Stop
from tests.unit.fake_lot import FakeLot
from tests.unit.fakes import FakeCheckup, FakeClock, FakeSink
from tests.unit.session_rig import Line

__all__ = ["CLOSING", "END", "OPENING", "STOPPING", "FakeTime", "Rig", "T"]

T = TypeVar("T")
Outcome = End | RelayError


class FakeTime:
    """The relay's `time`: sleeping is instant, and remembered."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.on_sleep: Callable[[], None] = lambda: None

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.on_sleep()


class InlineHelper(Helper):
    """Jobs are done at once, by the one who asks; or never, with `stuck`."""

    def __init__(self) -> None:
        self.stuck = False

    def submit(self, job: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        if self.stuck:
            return future
        try:
            future.set_result(job())
        except RelayError as exc:
            future.set_exception(exc)
        return future


class FakeSource:
    """Fails as scripted, then gives streams."""

    def __init__(self, clock: FakeClock, calls: list[str]) -> None:
        self.server_is_leaving = False
        self.preflights: deque[RelayError] = deque()
        self.opens: deque[RelayError] = deque()
        self.streams: list[Line] = []
        self.frees: deque[bool | RelayError] = deque()
        self.gaps: deque[RelayError] = deque()
        self.confirmed_lsn, self.end_lsn, self.ceiling_lsn = 100, 900, 300
        self._clock = clock
        self._calls = calls

    def preflight(self) -> FakeCheckup:
        self._calls.append("preflight")
        if self.preflights:
            raise self.preflights.popleft()
        return FakeCheckup()

    def open(self) -> Stream:
        self._calls.append("open")
        if self.opens:
            raise self.opens.popleft()
        self.streams.append(Line(self._clock))
        return self.streams[-1]

    def check(self) -> FakeCheckup:
        return FakeCheckup()

    def is_free(self) -> bool:
        self._calls.append("is free")
        answer = self.frees.popleft() if self.frees else True
        if isinstance(answer, RelayError):
            raise answer
        return answer

    def take_over(self) -> Standing:
        if self.gaps:
            raise self.gaps.popleft()
        return Standing(self.confirmed_lsn, self.end_lsn, self.ceiling_lsn)


class WatchedSink(FakeSink):
    def __init__(self, clock: FakeClock, calls: list[str]) -> None:
        super().__init__(clock)
        self.probes: deque[RelayError] = deque()
        self._breaks: dict[str, RelayError] = {}
        self._calls = calls

    def break_at(self, call: str, error: RelayError) -> None:
        """The next poll behind that call raises it, once."""
        self._breaks[call] = error

    def poll(self, timeout_seconds: float) -> Reports:
        if self._calls and self._calls[-1] in self._breaks:
            raise self._breaks.pop(self._calls[-1])
        return super().poll(timeout_seconds)

    def probe(self) -> None:
        self._calls.append("probe")
        if self.probes:
            raise self.probes.popleft()

    def reset(self) -> None:
        self._calls.append("reset")
        super().reset()


class WatchedLot(FakeLot):
    """Fails as scripted; `identities` is what it has."""

    def __init__(self, clock: FakeClock, calls: list[str]) -> None:
        super().__init__(lambda: clock.now)
        self.opens: deque[RelayError] = deque()
        self.takes: deque[BaseException] = deque()
        self.identities: frozenset[Identity] = frozenset()
        self._calls = calls

    def open(self) -> None:
        self._calls.append("open lot")
        if self.opens:
            raise self.opens.popleft()

    def take_over(self, confirmed_lsn: int) -> Inventory:
        self._calls.append(f"take over {confirmed_lsn}")
        if self.takes:
            raise self.takes.popleft()
        return Inventory(self.identities, super().take_over(confirmed_lsn).survey)

    def end_run(self) -> None:
        self._calls.append("end run")


@dataclass
class Script:
    """What the next sessions do: how each ends, and what is left when it parts."""

    ends: deque[Outcome]
    left: int = 0
    on_run: Callable[[], None] = lambda: None
    on_part: RelayError | None = None


class ScriptedSession(Session):
    def __init__(self, stream: Stream, script: Script, calls: list[str]) -> None:
        self._stream = stream
        self._script = script
        self._calls = calls

    def run(self) -> End:
        self._calls.append("run")
        self._script.on_run()
        end = self._script.ends.popleft()
        if isinstance(end, End):
            return end
        raise end

    def part(self, drain_seconds: float) -> int:
        self._calls.append(f"part {drain_seconds:g}")
        if self._script.on_part is not None:
            raise self._script.on_part
        return self._script.left

    def close(self) -> None:
        self._calls.append("close")
        self._stream.close()


class Rig:
    """A relay between fakes. `calls` is what happened, in order; a session without a script stops the relay."""

    def __init__(self, time: FakeTime, *ends: Outcome, wait: bool = True) -> None:
        self.time = time
        self.calls: list[str] = []
        self.states: list[tuple[State, str]] = []
        self.stop = Stop()
        self.stats = _RecordingStats(self.states)
        clock = FakeClock()
        self.source = FakeSource(clock, self.calls)
        self.sink = WatchedSink(clock, self.calls)
        self.lot = WatchedLot(clock, self.calls)
        self.helper = InlineHelper()
        self.inventories: list[Inventory] = []
        self.ceilings: list[int] = []
        self.script = Script(deque(ends))
        self.script.on_run = self._stop_after_the_script
        self.streaming_count = 0
        self.relay = Relay(
            source=self.source,
            sink=self.sink,
            lot=self.lot,
            helper=self.helper,
            make_session=self._make_session,
            on_streaming=self._note_streaming,
            stats=self.stats,
            stop=self.stop,
            timing=Timing(drain=30),
            wait=wait,
        )

    def run(self) -> list[str]:
        self.relay.run()
        return self.calls

    @property
    def waits(self) -> float:
        return self.time.now - 1000.0

    def _make_session(self, stream: Stream, inventory: Inventory, ceiling_lsn: int) -> Session:
        self.inventories.append(inventory)
        self.ceilings.append(ceiling_lsn)
        return ScriptedSession(stream, self.script, self.calls)

    def _note_streaming(self) -> None:
        self.streaming_count += 1

    def _stop_after_the_script(self) -> None:
        if not self.script.ends:
            self.stop.request()
            self.script.ends.append(End.STOPPED)


class _RecordingStats(Stats):
    __slots__ = ("_seen",)

    def __init__(self, seen: list[tuple[State, str]]) -> None:
        super().__init__()
        self._seen = seen

    def enter(self, state: State, reason: str = "") -> bool:
        changed = super().enter(state, reason)
        if changed:
            self._seen.append((state, reason))
        return changed


OPENING = ["preflight", "probe", "open lot", "open", "take over 100", "run"]
CLOSING = ["reset", "close"]
STOPPING = ["part 30", *CLOSING]
END = ["end run"]
