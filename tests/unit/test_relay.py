"""From one session to the next, and the end: come back, part, stop. Every seam faked, no time passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest

from cdc_relay import patience
from cdc_relay import relay as relay_module
from cdc_relay.errors import AwayError, DecodeError, DrainError, RefusedError, RelayError, SinkError, SourceError
from cdc_relay.session.session import End
from cdc_relay.stats import State
from tests.unit.relay_rig import CLOSING, END, OPENING, STOPPING, FakeTime, Rig, T


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTime]:
    fake = FakeTime()
    monkeypatch.setattr(relay_module, "time", fake)
    monkeypatch.setattr(patience, "time", fake)
    yield fake


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
