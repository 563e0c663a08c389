"""The loop with every seam faked and a clock that only moves when the loop waits."""

from __future__ import annotations

import pytest

from cdc_relay.errors import AwayError, DecodeError, RefusedError, SourceError
from cdc_relay.session.session import End
from cdc_relay.stats import State
from tests.unit import frames
from tests.unit.fakes import FakeCheckup
from tests.unit.session_rig import SessionRig as Rig
from tests.unit.session_rig import row, transaction


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
    assert rig.stream.statuses[0].flush_lsn == 0
    assert rig.confirmed == 100
    fresh = Rig(frames.keepalive(900))
    fresh.run_until(3)
    assert {status.flush_lsn for status in fresh.stream.statuses} == {0}


def test_the_first_status_goes_out_before_anything_is_read() -> None:
    rig = Rig(*transaction(100, 1), eager=True)
    rig.stop.request()
    assert rig.session.run() is End.STOPPED
    assert (rig.stream.statuses[0].write_lsn, rig.stream.statuses[0].flush_lsn) == (0, 0)


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


# --- ends


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
