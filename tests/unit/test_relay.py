"""Between two sessions: wait for what is away, stand by, come back, part, stop. Every seam faked, no time passes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import pytest

from cdc_relay import relay as relay_module
from cdc_relay.errors import (
    AwayError,
    DecodeError,
    DrainError,
    RefusedError,
    RelayError,
    SinkError,
    SlotInUseError,
    SourceError,
)
from cdc_relay.helper import Helper
from cdc_relay.model import Identity
from cdc_relay.parking.entry import Inventory
from cdc_relay.relay import Relay
from cdc_relay.session import End, Session, Stream, Timing
from cdc_relay.sinks.sink import Reports
from cdc_relay.stats import State, Stats
from cdc_relay.stop import Stop
from tests.unit.fake_lot import FakeLot
from tests.unit.fakes import FakeCheckup, FakeClock, FakeSink
from tests.unit.session_rig import Line

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
        self.confirmed_lsn, self.end_lsn = 100, 900
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

    def read_range(self) -> tuple[int, int]:
        return self.confirmed_lsn, self.end_lsn


class WatchedSink(FakeSink):
    def __init__(self, clock: FakeClock, calls: list[str]) -> None:
        super().__init__(clock)
        self.probes: deque[RelayError] = deque()
        self.polls: deque[RelayError] = deque()
        self._calls = calls

    def poll(self, timeout_seconds: float) -> Reports:
        if self.polls:
            raise self.polls.popleft()
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

    def _make_session(self, stream: Stream, inventory: Inventory) -> Session:
        self.inventories.append(inventory)
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


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTime]:
    fake = FakeTime()
    monkeypatch.setattr(relay_module, "time", fake)
    yield fake


OPENING = ["preflight", "probe", "open lot", "open", "take over 100", "run"]
CLOSING = ["reset", "close"]
STOPPING = ["part 30", *CLOSING]
END = ["end run"]


# --- getting there


def test_postgres_is_looked_at_before_the_broker_and_the_slot_is_taken_last(time: FakeTime) -> None:
    assert Rig(time).run() == OPENING + STOPPING + END


def test_what_is_away_is_waited_for_with_backoff(time: FakeTime) -> None:
    rig = Rig(time)
    rig.source.preflights.extend(AwayError(f"Postgres is not reachable: {number}") for number in range(10))
    waits: list[float] = []
    before = rig.source.preflight

    def preflight() -> FakeCheckup:
        waits.append(rig.waits)
        return before()

    rig.source.preflight = preflight  # type: ignore[method-assign]  # a spy around the fake
    rig.run()
    pauses = [later - earlier for earlier, later in pairwise(waits)]
    assert pauses == sorted(pauses)
    assert pauses[0] == pytest.approx(0.1, abs=0.11)
    assert pauses[-1] == pytest.approx(5.0, abs=0.11)
    assert rig.states[0] == (State.WAITING, "Postgres is not reachable: 0")
    assert rig.calls.count("run") == 1


def test_a_slot_in_use_is_stood_by_for(time: FakeTime) -> None:
    rig = Rig(time)
    rig.source.opens.extend(SlotInUseError("slot orders is in use: PID 7") for _ in range(5))
    rig.run()
    assert rig.states[:2] == [(State.STANDBY, "slot orders is in use: PID 7"), (State.STREAMING, "")]
    assert rig.waits == pytest.approx(5.0, abs=0.6)  # a try each second, however long: take over soon


def test_a_broker_away_is_waited_for_with_its_own_complaint(time: FakeTime) -> None:
    rig = Rig(time)
    rig.sink.error = "Connect to 10.0.0.1 failed: Connection refused"
    rig.sink.probes.append(AwayError("Kafka does not answer: timed out", remedy="check the brokers"))
    rig.run()
    assert rig.states[0] == (
        State.WAITING,
        "Kafka does not answer: timed out (Connect to 10.0.0.1 failed: Connection refused)",
    )
    assert rig.calls[:4] == ["preflight", "probe", "preflight", "probe"]  # the slot is not taken meanwhile
    assert rig.stats.sink_error == ""


def test_a_line_that_breaks_while_it_opens_is_tried_again(time: FakeTime) -> None:
    rig = Rig(time)
    rig.source.opens.append(SourceError("the connection to Postgres broke"))
    assert rig.run()[:8] == ["preflight", "probe", "open lot", "open"] * 2


@pytest.mark.parametrize("error", [RefusedError("no slot"), DecodeError("garbage"), DrainError("?")])
def test_what_is_wrong_is_not_waited_for(time: FakeTime, error: RelayError) -> None:
    rig = Rig(time)
    rig.source.preflights.append(error)
    with pytest.raises(type(error)) as raised:
        rig.run()
    assert raised.value is error
    assert rig.waits == 0


@pytest.mark.parametrize(
    "error",
    [AwayError("Postgres is not reachable"), SlotInUseError("slot in use"), SourceError("the line broke")],
)
def test_without_waiting_whatever_is_away_ends_it_with_three(time: FakeTime, error: RelayError) -> None:
    rig = Rig(time, wait=False)
    rig.source.opens.append(error)
    with pytest.raises(AwayError, match=error.message) as raised:
        rig.run()
    assert raised.value.exit_code == 3
    assert raised.value.remedy
    assert rig.waits == 0


def test_without_waiting_an_unreachable_broker_ends_it_with_its_remedy(time: FakeTime) -> None:
    rig = Rig(time, wait=False)
    rig.sink.probes.append(AwayError("Kafka does not answer", remedy="check the brokers"))
    with pytest.raises(AwayError, match="Kafka does not answer") as raised:
        rig.run()
    assert raised.value.remedy == "check the brokers"
    assert "open" not in rig.calls


def test_not_waiting_is_about_the_start_only(time: FakeTime) -> None:
    rig = Rig(time, SourceError("the line broke"), wait=False)
    before = rig.script.on_run

    def away_afterwards() -> None:
        before()
        rig.source.preflights.extend([AwayError("restarting")] * 3 if len(rig.source.streams) == 1 else [])

    rig.script.on_run = away_afterwards
    assert rig.run().count("run") == 2


def test_the_loop_is_seen_alive_while_the_helper_is_stuck(time: FakeTime) -> None:
    rig = Rig(time)
    rig.helper.stuck = True
    turns = 0
    poll = rig.sink.poll

    def count(timeout_seconds: float) -> Reports:
        nonlocal turns
        turns += 1
        time.now += 1
        if turns == 3:
            rig.stop.request()
        return poll(timeout_seconds)

    rig.sink.poll = count  # type: ignore[method-assign]  # for this test
    rig.run()
    assert rig.stats.last_turn_at == 1002.0
    assert rig.calls == []


def test_the_broker_s_complaint_is_seen_while_waiting(time: FakeTime) -> None:
    rig = Rig(time)
    rig.sink.error = "SASL authentication failed"
    rig.sink.probes.append(AwayError("Kafka does not answer"))
    seen: list[str] = []
    time.on_sleep = lambda: seen.append(rig.stats.sink_error)
    rig.run()
    assert "SASL authentication failed" in seen


def test_a_wish_to_stop_ends_the_waiting(time: FakeTime) -> None:
    rig = Rig(time)
    rig.source.preflights.extend([AwayError("away")] * 1000)
    time.on_sleep = lambda: rig.stop.request() if rig.waits > 60 else None
    rig.run()
    assert 60 < rig.waits < 61
    assert "run" not in rig.calls


def test_stopped_before_it_began_it_does_nothing(time: FakeTime) -> None:
    rig = Rig(time)
    rig.stop.request()
    assert rig.run() == []


def test_a_producer_that_breaks_while_we_wait_is_replaced(time: FakeTime) -> None:
    rig = Rig(time)
    rig.sink.polls.append(SinkError("the Kafka producer broke"))
    calls = rig.run()
    assert "reset" in calls[: calls.index("run")]


# --- the lot


def test_the_lot_is_taken_over_only_by_the_one_who_reads_the_slot(time: FakeTime) -> None:
    rig = Rig(time)
    rig.source.opens.extend(SlotInUseError("slot orders is in use") for _ in range(3))
    calls = rig.run()
    assert calls.index("take over 100") > [place for place, call in enumerate(calls) if call == "open"][-1]


def test_a_standby_that_is_stopped_ends_nobody_s_run(time: FakeTime) -> None:
    rig = Rig(time)
    rig.source.opens.extend(SlotInUseError("slot orders is in use") for _ in range(100))
    time.on_sleep = lambda: rig.stop.request() if rig.waits > 5 else None
    rig.run()
    assert "end run" not in rig.calls


def test_a_lot_that_is_away_is_waited_for_with_the_slot_free(time: FakeTime) -> None:
    rig = Rig(time)
    rig.lot.opens.append(AwayError("the lot is not reachable"))
    assert rig.run()[:5] == ["preflight", "probe", "open lot", "preflight", "probe"]
    assert (State.WAITING, "the lot is not reachable") in rig.states


def test_a_lot_without_a_table_is_refused(time: FakeTime) -> None:
    rig = Rig(time)
    rig.lot.opens.append(RefusedError("no table", remedy="cdc-relay setup"))
    with pytest.raises(RefusedError, match="no table"):
        rig.run()
    assert "open" not in rig.calls


def test_a_lot_that_cannot_be_taken_over_gives_the_slot_free(time: FakeTime) -> None:
    rig = Rig(time)
    rig.lot.takes.append(AwayError("the lot does not answer"))
    rig.run()
    assert [stream.closed for stream in rig.source.streams] == [True, True]
    assert rig.calls.count("run") == 1


def test_a_take_over_that_fails_for_good_closes_the_line(time: FakeTime) -> None:
    rig = Rig(time)
    rig.lot.takes.append(RefusedError("no right"))
    with pytest.raises(RefusedError):
        rig.run()
    assert [stream.closed for stream in rig.source.streams] == [True]


def test_the_lot_is_taken_over_for_each_session(time: FakeTime) -> None:
    rig = Rig(time, SourceError("cut"))
    rig.run()
    assert rig.calls.count("take over 100") == 2


def test_what_can_never_come_again_is_not_waited_for(time: FakeTime) -> None:
    """After a failover the lot may have records beyond the end of the server's WAL."""
    rig = Rig(time)
    near, far = ("public.outbox", 500, 0, 1), ("public.outbox", 901, 0, 1)
    rig.lot.identities = frozenset([near, far])
    rig.run()
    assert rig.inventories[0].identities == {near}


# --- being there, and coming back


@pytest.mark.parametrize("error", [SourceError("Postgres ended the stream"), SinkError("the Kafka producer broke")])
def test_a_broken_line_or_producer_is_read_again_from_the_slot(time: FakeTime, error: RelayError) -> None:
    rig = Rig(time, error)
    assert rig.run() == [*OPENING, *CLOSING, *OPENING, *STOPPING, *END]
    assert rig.stats.reconnect_count == 1
    assert (State.WAITING, error.message) in rig.states
    assert [stream.closed for stream in rig.source.streams] == [True, True]


def test_the_producer_is_emptied_before_the_slot_is_given_free(time: FakeTime) -> None:
    """Another process may read the slot as soon as the line is closed: nothing of ours may follow its records."""
    calls = Rig(time, SourceError("cut")).run()
    assert calls.index("reset") < calls.index("close")


def test_whatever_was_open_is_forgotten_before_the_next_session(time: FakeTime) -> None:
    rig = Rig(time, SourceError("cut"))
    open_counts: list[int] = []
    before = rig.script.on_run

    def leave_open() -> None:
        before()
        open_counts.append(len(rig.sink.open))
        rig.sink.open.append(object())  # type: ignore[arg-type]  # a ticket, whose content matters to nobody here

    rig.script.on_run = leave_open
    rig.run()
    assert open_counts == [0, 0]


def test_a_line_that_breaks_again_and_again_is_tried_more_and_more_seldom(time: FakeTime) -> None:
    rig = Rig(time, *[SourceError("cut") for _ in range(12)])
    rig.run()
    assert rig.stats.reconnect_count == 12
    expected = 0.1 + 0.2 + 0.4 + 0.8 + 1.6 + 3.2 + 6 * 5.0
    assert rig.waits == pytest.approx(expected, abs=1.5)


def test_a_session_that_lived_makes_us_patient_no_longer(time: FakeTime) -> None:
    rig = Rig(time, *[SourceError("cut") for _ in range(12)])
    before = rig.script.on_run

    def live() -> None:
        before()
        time.now += 60

    rig.script.on_run = live
    rig.run()
    assert rig.waits - 13 * 60 < 3


def test_streaming_is_announced_for_every_session(time: FakeTime) -> None:
    rig = Rig(time, SourceError("cut"))
    rig.run()
    assert rig.streaming_count == 2


def test_a_server_that_leaves_is_parted_from_quickly_and_waited_for(time: FakeTime) -> None:
    rig = Rig(time, End.LEAVING)
    assert rig.run() == [*OPENING, "part 1", *CLOSING, *OPENING, *STOPPING, *END]
    assert (State.WAITING, "Postgres is shutting down") in rig.states


def test_memory_is_given_back_by_a_new_line(time: FakeTime) -> None:
    rig = Rig(time, End.REFRESH)
    assert rig.run() == [*OPENING, "part 0", *CLOSING, *OPENING, *STOPPING, *END]
    assert rig.waits == 0


def test_a_released_line_is_opened_only_after_the_broker_answered(time: FakeTime) -> None:
    rig = Rig(time, End.RELEASED)
    before = rig.script.on_run

    def away() -> None:
        before()
        rig.sink.error = "broker transport failure"
        if len(rig.source.streams) == 1:
            rig.sink.probes.extend([AwayError("Kafka does not answer")] * 3)

    rig.script.on_run = away
    calls = rig.run()
    assert calls[6:8] == CLOSING  # without parting: nothing was settled
    later = calls[8:]
    assert later.count("probe") == 4
    assert later.count("open") == 1
    assert later.index("open") > [place for place, call in enumerate(later) if call == "probe"][-1]
    assert (State.RELEASED, "line closed: broker transport failure") in rig.states


@pytest.mark.parametrize("error", [RefusedError("publication changed"), DecodeError("garbage"), ValueError("a bug")])
def test_whatever_else_ends_a_session_ends_the_relay_with_the_line_closed(time: FakeTime, error: Exception) -> None:
    rig = Rig(time, error)  # type: ignore[arg-type]  # also what is no error of ours
    with pytest.raises(type(error)) as raised:
        rig.run()
    assert raised.value is error
    is_orderly = isinstance(error, RelayError)  # else it is a death, perhaps of a record: three of them park it
    assert rig.calls == [*OPENING, *CLOSING, *(END if is_orderly else [])]


def test_an_announcement_that_is_refused_closes_the_line(time: FakeTime) -> None:
    rig = Rig(time)

    def refuse() -> None:
        raise RefusedError("http.listen is in use")

    rig.relay._on_streaming = refuse
    with pytest.raises(RefusedError):
        rig.run()
    assert rig.calls[-3:] == [*CLOSING, *END]


# --- stopping


def test_stopping_drains_and_says_so(time: FakeTime) -> None:
    rig = Rig(time)
    assert rig.run()[-4:] == [*STOPPING, *END]
    assert rig.states[-1] == (State.STOPPING, "")


def test_a_drain_that_was_too_short_says_how_many_come_again(time: FakeTime) -> None:
    rig = Rig(time)
    rig.script.left = 3
    with pytest.raises(DrainError, match="3 records") as raised:
        rig.run()
    assert raised.value.exit_code == 1
    assert "delivery.drain" in raised.value.remedy
    assert rig.calls[-3:] == [*CLOSING, *END]


@pytest.mark.parametrize("error", [SourceError("Postgres ended the stream"), SinkError("the Kafka producer broke")])
def test_a_stop_that_could_not_drain_is_no_clean_stop(time: FakeTime, error: RelayError) -> None:
    """Exit 0 means drained and confirmed."""
    rig = Rig(time)
    rig.script.on_part = error
    with pytest.raises(RelayError) as raised:
        rig.run()
    assert raised.value.exit_code == 1
    assert rig.calls == [*OPENING, *STOPPING, *END]


class LateFuture(Future[T]):
    """Done only for the one who waits for it: something else is before it in the line."""

    def __init__(self, job: Callable[[], T]) -> None:
        super().__init__()
        self._job = job

    def result(self, timeout: float | None = None) -> T:
        return self._job()


def test_an_orderly_end_is_written_down_although_the_helper_is_busy(time: FakeTime) -> None:
    """Else it would count as a death, and two of them make the next start cautious."""
    rig = Rig(time)
    submit = rig.helper.submit

    def submit_late(job: Callable[[], T]) -> Future[T]:
        return LateFuture(job) if job == rig.lot.end_run else submit(job)

    rig.helper.submit = submit_late  # type: ignore[method-assign]  # for this test
    assert rig.run()[-1] == "end run"


def test_a_helper_that_is_stuck_does_not_keep_the_process(time: FakeTime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay_module, "_END_SECONDS", 0.01)
    rig = Rig(time)
    part = rig.script.on_run

    def get_stuck() -> None:
        part()
        rig.helper.stuck = True

    rig.script.on_run = get_stuck
    assert rig.run()[-2:] == CLOSING


def test_a_session_knows_where_the_wal_ended_when_it_began(time: FakeTime) -> None:
    rig = Rig(time)
    rig.run()
    assert [inventory.end_lsn for inventory in rig.inventories] == [900]
