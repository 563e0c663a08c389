"""The loop with every seam faked and a clock that only moves when the loop waits."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cdc_relay.delivery.failures import CRASH
from cdc_relay.errors import AwayError, DecodeError, RefusedError, SourceError
from cdc_relay.model import Record
from cdc_relay.parking.entry import Entry, Reason, Status
from cdc_relay.session import End
from cdc_relay.sinks.sink import Slip
from cdc_relay.stats import State
from tests.unit import frames
from tests.unit.dispatch_rig import BROKEN, MISSING, POISON
from tests.unit.fake_lot import FakeLot
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


# --- the lot


def test_a_record_without_a_route_is_parked_and_the_rest_flows() -> None:
    bad = frames.insert(b"bad-row", None, b"k", b"Placed", b"{}")
    rig = Rig(*transaction(100, 1), frames.begin(199), bad, frames.commit(200), *transaction(300, 2), eager=True)
    rig.run_until(3)
    assert (rig.confirmed, len(rig.sink.published)) == (300, 2)
    assert [parked.status for parked in rig.lot.rows.values()] == [Status.DEAD]


def test_a_parked_record_is_settled_when_it_is_durable_and_not_before() -> None:
    rig = Rig(*transaction(100, 1))
    rig.jobs.eager = False
    rig.turn(2)
    rig.sink.reject(rig.sink.open[0], POISON)
    rig.run_until(3)
    assert rig.confirmed == 0
    rig.jobs.eager = True
    rig.jobs.run()
    rig.run_until(3)
    assert rig.confirmed == 100


def test_with_the_lot_away_the_relay_holds_and_says_so() -> None:
    rig = Rig(*transaction(100, 1), answer=frames.keepalive(100))
    rig.lot.away.add("park")
    rig.turn(2)
    rig.sink.reject(rig.sink.open[0], POISON)
    rig.run_until(10)
    assert (rig.stats.state, rig.stats.state_reason) == (State.HOLDING, "the lot: the lot is away")
    assert rig.confirmed == 0
    rig.lot.away.clear()
    rig.run_until(3)
    assert (rig.stats.state, rig.confirmed) == (State.STREAMING, 100)


def test_an_idle_loop_wakes_for_what_is_due() -> None:
    rig = Rig(*transaction(100, 1), answer=frames.keepalive(100))
    rig.turn(2)
    rig.sink.reject(rig.sink.open[0], BROKEN)
    rig.turn(3)
    [parked] = rig.lot.rows.values()
    assert parked.due_at is not None
    while len(rig.sink.published) < 2 and rig.clock.now < parked.due_at + 5:
        rig.turn()
    assert 0 <= rig.clock.now - parked.due_at < 0.1


def test_nothing_is_read_while_a_topic_closes() -> None:
    rig = Rig(*transaction(100, 1, 2), answer=frames.keepalive(100))
    other = frames.insert(b"3", b"other", b"k", b"Placed", b"{}")
    rig.stream.frames.extend([frames.begin(199), other, frames.commit(200)])
    rig.turn(2)
    rig.sink.reject(rig.sink.open[0], MISSING)
    rig.turn()
    rig.stream.frames.extend(transaction(300, 4))
    rig.turn()
    assert (len(rig.stream.frames), len(rig.sink.published)) == (4, 3)
    assert rig.run_until(10) is None  # not to listen is no silence


def test_a_drain_with_the_lot_away_does_not_turn_in_circles() -> None:
    rig = Rig(*transaction(100, 1), answer=frames.keepalive(100))
    rig.lot.away.add("park")
    rig.turn(2)
    rig.sink.reject(rig.sink.open[0], POISON)
    rig.turn()
    rig.bell.wait_count = 0
    assert rig.session.part(10) == 1
    assert 100 <= rig.bell.wait_count <= 220
    assert rig.confirmed == 0


def test_a_drain_takes_nothing_more_out_of_the_lot() -> None:
    rig = Rig(*transaction(100, 1), answer=frames.keepalive(100))
    rig.turn(2)
    rig.sink.reject(rig.sink.open[0], BROKEN)
    rig.turn(3)
    rig.clock.now += 4
    published = len(rig.sink.published)
    rig.session.part(10)
    assert len(rig.sink.published) == published
    assert rig.confirmed == 100


def test_a_full_lot_does_not_make_the_relay_publish_everything_again() -> None:
    """The line is released for a broker that is away: for want of room it would be, every minute."""
    rig = Rig(records=10, eager=True)
    rig.lot.limit_records = 0
    for number in range(1, 200):
        rig.stream.frames.extend(transaction(100 * number, number))
    rig.sink.verdict = lambda record: BROKEN if int(dict(record.headers)["id"] or 0) % 10 == 0 else None
    assert rig.run_until(200) is None
    assert (rig.stats.state, rig.stats.state_reason) == (State.HOLDING, "the lot: the lot is at its limit")
    rig.lot.limit_records = 1000
    rig.run_until(10)
    assert rig.confirmed == 19900


def failed_rig() -> Rig:
    """One record that failed once and will be due again."""
    rig = Rig(*transaction(100, 1), answer=frames.keepalive(100))
    rig.turn(2)
    rig.sink.reject(rig.sink.open[0], BROKEN)
    rig.turn(3)
    return rig


def run_until_due(rig: Rig) -> None:
    [parked] = rig.lot.rows.values()
    while rig.clock.now < (parked.due_at or 0.0) + 1:
        rig.turn()


def test_parting_counts_what_was_published_from_the_lot_and_not_written_down() -> None:
    """It will be published again: that is no clean stop."""
    rig = failed_rig()
    rig.lot.away.add("mark")
    rig.sink.eager = True
    run_until_due(rig)
    assert len(rig.sink.published) == 2
    assert rig.session.part(10) == 1


def test_a_claim_that_is_answered_during_a_stop_is_given_back() -> None:
    rig = failed_rig()
    rig.jobs.eager = False
    run_until_due(rig)
    assert len(rig.jobs) > 0  # the claim is on its way
    rig.stream.frames.extend(transaction(200, 2))
    rig.turn()
    rig.jobs.eager = True
    rig.jobs.run()
    rig.session.part(10)  # there is something to wait for
    [parked] = rig.lot.rows.values()
    assert (len(rig.sink.published), parked.is_claimed, parked.attempts) == (2, False, 0)


# --- after repeated deaths


def cautious_rig(*stream: bytes, eager: bool = True, noted_deaths: int = 0, end_lsn: int = 0) -> Rig:
    """Two runs died here; and so many of the runs before had noted the first record when they died."""
    lot = FakeLot(lambda: 0.0, end_lsn=end_lsn)
    lot.run.ended, lot.run.deaths, lot.run.process = False, 1, lot.process
    if noted_deaths:
        lot.run.note = ("public.outbox", 99, 0, frames.EPOCH_US)
        lot.run.suspects[lot.run.note] = noted_deaths - 1
    lot.begin_process()
    rig = Rig(*stream, eager=eager, answer=frames.keepalive(100), lot=lot)
    assert rig.dispatch.caution.is_on
    return rig


def test_a_cautious_session_notes_each_record_before_it_is_touched() -> None:
    rig = cautious_rig(*transaction(100, 1, 2))
    rig.lot.calls.clear()
    handed_out: list[bool] = []
    publish = rig.sink.publish

    def watch(record: Record, slip: Slip) -> None:
        handed_out.append(rig.lot.run.note is not None)
        publish(record, slip)

    rig.dispatch.publisher._publish = watch
    rig.run_until(2)
    assert (len(rig.sink.published), handed_out) == (2, [True, True])
    assert [call for call in rig.lot.calls if "note" in call] == ["open_note", "close_note"] * 2
    assert (rig.lot.run.note, rig.confirmed) == (None, 100)


def test_a_cautious_session_has_one_record_out() -> None:
    rig = cautious_rig(*transaction(100, 1, 2), eager=False)
    rig.run_until(3)
    assert len(rig.sink.published) == 1


def test_nothing_is_noted_while_a_broker_is_waited_for() -> None:
    rig = cautious_rig(*transaction(100, 1, 2), eager=False)
    rig.run_until(1)
    assert rig.lot.run.note is None
    rig.run_until(20)
    assert (rig.lot.run.note, rig.lot.calls.count("open_note")) == (None, 1)


def test_the_record_noted_at_three_deaths_is_parked_as_a_crash_and_the_rest_flows() -> None:
    rig = cautious_rig(*transaction(100, 1, 2, 3), noted_deaths=3)
    rig.run_until(3)
    [parked] = rig.lot.rows.values()
    assert parked.failure is not None
    assert (parked.status, parked.failure.code, parked.identity[2]) == (Status.DEAD, CRASH, 0)
    assert (len(rig.sink.published), rig.confirmed) == (2, 100)
    rig.run_until(5)
    assert not rig.dispatch.caution.is_on


def test_two_deaths_on_a_record_are_not_enough() -> None:
    rig = cautious_rig(*transaction(100, 1), noted_deaths=2)
    rig.run_until(3)
    assert (len(rig.sink.published), rig.lot.rows) == (1, {})


def test_a_cautious_session_is_over_when_nothing_comes() -> None:
    rig = cautious_rig(*transaction(100, 1))
    rig.run_until(6)
    assert not rig.dispatch.caution.is_on


def test_a_record_that_could_not_be_noted_is_not_touched() -> None:
    rig = cautious_rig(*transaction(100, 1))
    rig.lot.away.add("open_note")
    rig.run_until(10)
    assert rig.sink.published == []
    assert rig.lot.calls.count("open_note") <= 12  # not over and over again
    rig.lot.away.clear()
    rig.run_until(3)
    assert (len(rig.sink.published), rig.confirmed) == (1, 100)


def test_a_row_that_could_not_be_noted_is_never_confirmed() -> None:
    """It was read and not taken: to read on to its Commit would lose it."""
    rig = cautious_rig(*transaction(100, 1))
    rig.lot.away.add("open_note")
    rig.run_until(2)
    rig.stop.request()
    assert rig.turn() is End.STOPPED
    rig.session.part(5)
    assert (rig.sink.published, rig.confirmed) == ([], 0)


def test_caution_lasts_while_the_server_only_reads() -> None:
    """Keepalives from far below the WAL's end: the record that kills is still to come."""
    rig = cautious_rig(end_lsn=600)
    for _ in range(80):
        rig.stream.frames.append(frames.keepalive(5))
        rig.turn(2)
        rig.clock.now += 0.1
    rig.stream.frames.extend(transaction(600, 1))
    rig.run_until(1)
    assert (len(rig.sink.published), rig.lot.calls.count("open_note")) == (1, 1)


def test_caution_and_a_full_lot_do_not_wait_for_each_other() -> None:
    """The lot is full of a topic's records that is well again, and emptied only when the caution is over."""
    first = Rig(*transaction(100, 1))
    first.turn(2)
    first.sink.reject(first.sink.open[0], MISSING)
    first.turn(3)
    assert [parked.reason for parked in first.lot.rows.values()] == [Reason.TOPIC_CLOSED]
    first.lot.limit_records, first.lot.run.deaths = 1, 1
    first.lot.begin_process()
    rig = Rig(*transaction(100, 1), *transaction(200, 2), *transaction(300, 3), eager=True, lot=first.lot)
    assert rig.dispatch.caution.is_on
    rig.run_until(60)
    assert (rig.lot.live(), rig.confirmed, len(rig.sink.published)) == ([], 300, 3)


def test_a_record_stays_noted_until_it_is_parked() -> None:
    """Parking it may be what kills the process."""
    rig = cautious_rig(frames.begin(99), frames.relation(), frames.insert(b"1", None, b"k", b"T", b"{}"))
    park, noted = rig.lot.park, []

    def watch(entries: Sequence[Entry]) -> None:
        noted.append(rig.lot.run.note is not None)
        park(entries)

    rig.lot.park = watch  # type: ignore[method-assign]  # for this test
    rig.run_until(2)
    assert (noted, rig.lot.run.note) == ([True], None)


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
