"""The loop after repeated deaths: one record at a time, noted before it is touched."""

from __future__ import annotations

from collections.abc import Sequence

from cdc_relay.delivery.failures import CRASH
from cdc_relay.model import Record
from cdc_relay.parking.entry import Entry, Reason, Status
from cdc_relay.session.session import End
from cdc_relay.sinks.sink import Slip
from tests.unit import frames
from tests.unit.dispatch_rig import MISSING
from tests.unit.fake_lot import FakeLot
from tests.unit.session_rig import SessionRig as Rig
from tests.unit.session_rig import transaction


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
