"""The loop with every seam faked and a clock that only moves when the loop waits."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from cdc_relay.delivery.intake import Intake
from cdc_relay.delivery.window import Window
from cdc_relay.errors import AwayError, DecodeError, RecordRefusedError, RefusedError, SourceError
from cdc_relay.model import Failure
from cdc_relay.parking.lot import RefusingLot
from cdc_relay.routing.router import Outbox, Router
from cdc_relay.session import End, Session, Timing
from cdc_relay.stats import State, Stats
from cdc_relay.stop import Stop
from tests.unit import frames
from tests.unit.fakes import FakeChecks, FakeCheckup, FakeClock, FakeSink, FakeStream

OUTBOX = Outbox("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload")
ALIVE = frames.keepalive(0)
TIMING = Timing(silence=5, status=1, check=10, hold=5, release=60, drain=30)


def row(number: int) -> bytes:
    return frames.insert(str(number).encode(), b"order", b"k", b"Placed", b"{}")


def transaction(end_lsn: int, *numbers: int) -> list[bytes]:
    return [frames.begin(end_lsn - 1), frames.relation(), *map(row, numbers), frames.commit(end_lsn)]


class Rig:
    """A session between fakes."""

    def __init__(self, *stream: bytes, eager: bool = False, records: int = 100, answer: bytes | None = ALIVE) -> None:
        self.clock = FakeClock()
        self.stream = FakeStream(self.clock, *stream, answer=answer)
        self.sink = FakeSink(self.clock, eager=eager)
        self.checks = FakeChecks()
        self.stop = Stop()
        self.stats = Stats()
        self.leaving = False
        self.intake = Intake(Router([OUTBOX]), Window(record_limit=records, byte_limit=1 << 20))
        self.session = Session(
            self.stream,
            self.intake,
            sink=self.sink,
            lot=RefusingLot("s"),
            check=self.checks,
            server_is_leaving=lambda: self.leaving,
            stats=self.stats,
            stop=self.stop,
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


def test_nothing_is_confirmed_before_the_broker_acknowledged_it() -> None:
    rig = Rig(*transaction(100, 1, 2))
    rig.run_until(3)
    assert {status.flush_lsn for status in rig.stream.statuses} == {0}
    rig.sink.eager = True
    rig.run_until(3)
    assert rig.confirmed == 100


def test_a_session_s_first_status_confirms_nothing() -> None:
    rig = Rig(*transaction(100, 1), eager=True)
    rig.run_until(3)
    assert rig.stream.statuses[0].flush_lsn in (0, 100)
    fresh = Rig(frames.keepalive(900))
    fresh.run_until(3)
    assert {status.flush_lsn for status in fresh.stream.statuses} == {0}


def test_status_updates_run_on_a_clock_with_a_full_window() -> None:
    rig = Rig(*transaction(100, *range(50)), records=10)
    rig.run_until(10)
    assert len(rig.sink.published) == 10
    assert len(rig.stream.statuses) >= 9


def test_a_full_window_stops_the_reading() -> None:
    rig = Rig(*transaction(100, *range(50)), records=10)
    rig.turn(5)
    left = len(rig.stream.frames)
    rig.turn(5)
    assert len(rig.stream.frames) == left
    rig.sink.eager = True
    rig.run_until(1)
    assert not rig.stream.frames


def test_a_keepalive_that_asks_is_answered_at_once() -> None:
    rig = Rig()
    rig.turn()
    before = len(rig.stream.statuses)
    rig.stream.frames.append(frames.keepalive(900, reply=True))
    rig.intake.window.take(1)  # something is open: the loop does not sleep
    rig.turn()
    assert len(rig.stream.statuses) == before + 1
    assert rig.stream.statuses[-1].write_lsn == 900


def test_an_idle_position_is_confirmed_only_after_a_check_that_began_after_it() -> None:
    rig = Rig(answer=frames.keepalive(900))
    rig.run_until(10.5)
    [check] = rig.checks.futures
    rig.stream.frames.append(frames.keepalive(950))
    rig.turn()
    check.set_result(FakeCheckup())
    rig.run_until(2)
    assert rig.confirmed == 900


def test_a_failed_check_confirms_no_idle_position() -> None:
    rig = Rig(answer=frames.keepalive(900))
    rig.run_until(10.5)
    rig.checks.futures[0].set_exception(AwayError("no catalog"))
    rig.run_until(2)
    assert rig.confirmed == 0


def test_a_changed_publication_ends_the_session() -> None:
    rig = Rig(answer=frames.keepalive(900))
    rig.run_until(10.5)
    rig.checks.futures[0].set_exception(RefusedError("changed"))
    with pytest.raises(RefusedError):
        rig.run_until(2)
    assert rig.confirmed == 0


def test_a_silent_line_is_taken_for_dead_but_asked_first() -> None:
    rig = Rig(answer=None)
    with pytest.raises(SourceError, match="silent"):
        rig.run_until(20)
    assert any(status.reply_requested for status in rig.stream.statuses)


def test_an_answering_line_is_alive_however_idle() -> None:
    rig = Rig(answer=frames.keepalive(900))
    rig.run_until(120)
    assert rig.stats.state is State.STREAMING


def test_silence_says_nothing_while_we_do_not_listen() -> None:
    rig = Rig(*transaction(100, *range(50)), records=10)
    assert rig.run_until(30) is None


def test_a_process_that_stood_still_publishes_nothing_more_on_its_line() -> None:
    rig = Rig()
    rig.turn()
    rig.stream.frames.extend(transaction(100, 1))
    rig.clock.now += 6
    with pytest.raises(SourceError, match="stood still"):
        rig.turn()
    assert not rig.sink.published


def test_the_line_is_released_after_holding_with_a_full_window() -> None:
    rig = Rig(*transaction(100, *range(50)), records=10)
    start = rig.clock.now
    assert rig.run_until(200) is End.RELEASED
    assert 60 <= rig.clock.now - start < 70


def test_holding_is_said_with_its_cause() -> None:
    rig = Rig(*transaction(100, 1), answer=frames.keepalive(100))
    rig.sink.error = "broker transport failure"
    rig.run_until(10)
    assert (rig.stats.state, rig.stats.state_reason) == (State.HOLDING, "broker transport failure")


def test_a_leaving_server_ends_the_session() -> None:
    rig = Rig()
    rig.leaving = True
    assert rig.turn() is End.LEAVING


def test_memory_of_a_very_large_message_is_given_back_once_idle() -> None:
    rig = Rig(*transaction(100, 1), eager=True)
    rig.intake.largest_frame_bytes = 17 << 20
    assert rig.run_until(2) is End.REFRESH


def test_parting_drains_confirms_and_hears_it() -> None:
    rig = Rig(*transaction(100, 1), answer=frames.keepalive(100))
    rig.turn(2)
    rig.stop.request()
    assert rig.turn() is End.STOPPED
    rig.sink.eager = True
    rig.stream.frames.extend(transaction(200, 2))
    assert rig.session.part(30) == 0
    assert len(rig.sink.published) == 1  # nothing new is handed out
    assert [(status.flush_lsn, status.reply_requested) for status in rig.stream.statuses[-2:]] == [(100, True)] * 2
    assert not rig.stream.frames  # closing with unread data would lose the confirmation


def test_parting_says_how_much_is_left_when_the_broker_is_away() -> None:
    rig = Rig(*transaction(100, 1, 2, 3), answer=frames.keepalive(100))
    rig.turn(2)
    assert rig.session.part(2) == 3
    assert rig.confirmed == 0


def test_a_record_without_a_route_stops_the_relay_with_the_slot_before_it() -> None:
    bad = frames.insert(b"bad-row", None, b"k", b"Placed", b"{}")
    rig = Rig(*transaction(100, 1), frames.begin(199), bad, frames.commit(200), eager=True)
    with pytest.raises(RecordRefusedError, match="bad-row"):
        rig.run_until(2)
    rig.session.part(0)
    assert rig.confirmed == 100


def test_a_record_the_broker_refuses_stops_the_relay() -> None:
    rig = Rig(*transaction(100, 1))
    rig.turn(2)
    [ticket] = rig.sink.open
    rig.sink.failed.append((ticket, Failure("MSG_SIZE_TOO_LARGE", "too large", "make it smaller")))
    with pytest.raises(RecordRefusedError, match="MSG_SIZE_TOO_LARGE"):
        rig.turn()


class SlowLot:
    """Durable when the test says so."""

    def __init__(self) -> None:
        self.future: Future[None] = Future()

    def park(self, rejects: object) -> Future[None]:
        return self.future


def test_a_parked_record_is_settled_when_it_is_durable_and_not_before() -> None:
    rig = Rig(*transaction(100, 1))
    lot = SlowLot()
    rig.session._lot = lot
    rig.turn(2)
    rig.sink.failed.append((rig.sink.open.pop(), Failure("X", "x", "x")))
    rig.run_until(3)
    assert rig.confirmed == 0
    lot.future.set_result(None)
    rig.run_until(3)
    assert rig.confirmed == 100


def test_a_stop_between_the_last_row_and_its_commit_confirms_the_transaction() -> None:
    rig = Rig(*transaction(100, 1)[:-1], answer=frames.keepalive(100))
    rig.turn(2)
    rig.sink.eager = True
    rig.stream.frames.append(frames.commit(100))
    assert rig.session.part(30) == 0
    assert rig.confirmed == 100


def test_a_stop_in_the_middle_of_a_transaction_hands_out_nothing_more_of_it() -> None:
    rig = Rig(*transaction(100, 1)[:-1], answer=frames.keepalive(100))
    rig.turn(2)
    rig.sink.eager = True
    rig.stream.frames.extend([row(2), frames.commit(100)])
    rig.session.part(30)
    assert (len(rig.sink.published), rig.confirmed) == (1, 0)


def test_a_frame_that_takes_long_to_arrive_is_no_silence() -> None:
    rig = Rig(answer=None)
    rig.stream.is_receiving = True
    assert rig.run_until(60) is None


def test_a_session_that_has_parted_once_never_reads_on_behind_a_dropped_row() -> None:
    rig = Rig(*transaction(100, 1)[:-1], answer=frames.keepalive(100))
    rig.turn(2)
    rig.sink.eager = True
    rig.stream.frames.extend([row(2)])
    rig.session.part(0.1)
    rig.stream.frames.append(frames.commit(100))
    rig.session.part(0.1)
    assert rig.intake.ledger.in_transaction
    assert rig.confirmed == 0


def test_an_idle_loop_sleeps_while_a_check_takes_its_time() -> None:
    rig = Rig()
    rig.run_until(10.5)
    before = rig.stream.read_count
    rig.run_until(5)
    assert rig.stream.read_count - before < 20


def test_a_drain_is_a_sign_of_life() -> None:
    rig = Rig(*transaction(100, 1))
    rig.turn(2)
    rig.session.part(40)
    assert rig.clock.now - rig.stats.last_turn_at < 6


def test_a_column_marked_unchanged_in_an_insert_is_a_decode_error() -> None:
    unchanged = frames.insert(b"e1", b"order", b"k", b"Placed", b"X").replace(b"t\x00\x00\x00\x01X", b"u")
    rig = Rig(frames.begin(99), frames.relation(), unchanged)
    with pytest.raises(DecodeError, match="unchanged"):
        rig.turn(2)
