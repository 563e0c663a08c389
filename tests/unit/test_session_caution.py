"""The loop after repeated deaths: a handful of records at a time, or one, noted before they are touched."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cdc_relay.delivery.failures import CRASH
from cdc_relay.dispatch.caution import HANDFUL
from cdc_relay.model import Identity, Record
from cdc_relay.parking.entry import Entry, Reason, Status
from cdc_relay.session.session import End
from cdc_relay.sinks.sink import Slip
from tests.unit import frames
from tests.unit.dispatch_rig import MISSING
from tests.unit.fake_lot import FakeLot
from tests.unit.session_rig import SessionRig as Rig
from tests.unit.session_rig import transaction

ALIVE = frames.keepalive(100)
FIRST = ("public.outbox", 99, 0, frames.EPOCH_US)


def cautious_rig(
    *stream: bytes,
    eager: bool = True,
    noted_deaths: int = 0,
    handful: int = 0,
    end_lsn: int = 0,
    records: int = 100,
    answer: bytes | None = ALIVE,
) -> Rig:
    """Two runs died here; so many of the runs before had noted the first record when they died, or one a handful."""
    lot = FakeLot(lambda: 0.0, end_lsn=end_lsn)
    lot.run.ended, lot.run.deaths, lot.run.process = False, 1, lot.process
    if noted_deaths:
        lot.run.note = FIRST
        lot.run.suspects[lot.run.note] = noted_deaths - 1
    if handful:
        lot.run.note, lot.run.note_count = FIRST, handful
    lot.begin_process()
    rig = Rig(*stream, eager=eager, answer=answer, lot=lot, records=records)
    assert rig.dispatch.caution.is_on
    return rig


def watch_notes(rig: Rig) -> list[tuple[Identity | None, int]]:
    """What is noted when a record is handed out."""
    rig.lot.calls.clear()
    handed_out: list[tuple[Identity | None, int]] = []
    publish = rig.sink.publish

    def watch(record: Record, slip: Slip) -> None:
        handed_out.append((rig.lot.run.note, rig.lot.run.note_count))
        publish(record, slip)

    rig.dispatch.publisher._publish = watch
    return handed_out


def notes(rig: Rig) -> list[str]:
    return [call for call in rig.lot.calls if "note" in call]


def test_a_cautious_session_notes_a_handful_before_it_is_touched() -> None:
    rig = cautious_rig(*transaction(100, 1, 2), *transaction(200, 3))
    handed_out = watch_notes(rig)
    rig.run_until(2)
    assert handed_out == [(FIRST, HANDFUL)] * 3
    assert notes(rig) == ["open_note", "close_note"]
    assert (rig.lot.run.note, rig.confirmed) == (None, 200)


def test_records_of_a_handful_that_was_noted_at_a_death_are_noted_each_alone() -> None:
    rig = cautious_rig(*transaction(100, 1, 2), handful=2)
    handed_out = watch_notes(rig)
    rig.run_until(2)
    assert handed_out == [(FIRST, 1), ((*FIRST[:2], 1, FIRST[3]), 1)]
    assert notes(rig) == ["open_note", "close_note"] * 2
    assert (rig.lot.run.note, rig.confirmed) == (None, 100)


def test_a_handful_has_no_more_records_than_its_note_says() -> None:
    rig = cautious_rig(*transaction(100, *range(HANDFUL + 1)), records=1000)
    handed_out = watch_notes(rig)
    rig.run_until(2)
    assert [at for at, (note, _) in enumerate(handed_out) if note != FIRST] == [HANDFUL]
    assert notes(rig) == ["open_note", "close_note"] * 2


def test_a_handful_ends_before_a_suspect() -> None:
    rig = cautious_rig(*transaction(50, 1, 2), *transaction(100, 3), noted_deaths=1)
    handed_out = watch_notes(rig)
    rig.run_until(2)
    assert [count for _, count in handed_out] == [HANDFUL, HANDFUL, 1]
    assert rig.confirmed == 100


def test_a_handful_fills_no_more_than_the_window() -> None:
    rig = cautious_rig(*transaction(100, 1, 2, 3, 4), eager=False, records=3)
    rig.run_until(3)
    assert len(rig.sink.published) == 3


def test_the_next_handful_waits_until_the_last_one_is_settled() -> None:
    rig = cautious_rig(*transaction(100, *range(HANDFUL + 1)), eager=False, records=1000)
    rig.run_until(3)
    assert len(rig.sink.published) == HANDFUL


def test_a_death_in_a_handful_leaves_no_culprit_and_the_next_run_takes_them_alone() -> None:
    rig = cautious_rig(*transaction(100, 1, 2), eager=False)
    rig.run_until(1)
    assert rig.lot.run.note == FIRST
    rig.lot.begin_process()
    again = Rig(*transaction(100, 1, 2), eager=True, lot=rig.lot)
    handed_out = watch_notes(again)
    again.run_until(2)
    assert [count for _, count in handed_out] == [1, 1]
    again.run_until(6)
    assert (again.lot.run.handfuls, again.lot.run.suspects, again.dispatch.caution.is_on) == ({}, {}, False)


def acknowledge_all(rig: Rig) -> None:
    for slip in list(rig.sink.open):
        rig.sink.acknowledge(slip)


def test_a_row_that_was_read_when_the_caution_is_spent_is_not_lost() -> None:
    """The handful before the suspect uses up what the dead runs may have had in their hands."""
    rig = cautious_rig(*transaction(50, 1), noted_deaths=1, records=3)
    rig.run_until(0.5)
    rig.stream.frames.extend([*transaction(60, 2, 3), *transaction(100, 4), *transaction(200, 5)])
    rig.run_until(5)
    assert (len(rig.sink.published), rig.confirmed) == (5, 200)


@pytest.mark.parametrize(
    "away", [set[str](), {"open_note"}, {"open_note", "close_note"}], ids=["there", "in part", "away"]
)
def test_caution_ends_with_empty_hands_whatever_the_lot_does(away: set[str]) -> None:
    rig = cautious_rig(*transaction(100, 1, 2, 3, 4), eager=False, records=3)
    rig.run_until(1)
    rig.lot.away = away
    acknowledge_all(rig)
    rig.run_until(0.5)
    rig.lot.away, rig.sink.eager = set(), True
    acknowledge_all(rig)
    rig.run_until(6)
    assert (len(rig.sink.published), rig.confirmed) == (4, 100)
    assert (rig.lot.run.note, rig.dispatch.caution.is_on) == (None, False)


def test_caution_lasts_in_a_transaction_that_is_larger_than_the_window() -> None:
    """The slot cannot move before its end: a run that died in it without a note would do so for ever."""
    rig = cautious_rig(*transaction(100, *range(10)), records=3)
    handed_out = watch_notes(rig)
    rig.run_until(3)
    assert [note for note, _ in handed_out if note is None] == []
    assert (len(handed_out), rig.confirmed) == (10, 100)


def test_a_new_session_of_the_same_process_has_nothing_noted() -> None:
    rig = cautious_rig(*transaction(100, 1, 2), eager=False)
    rig.run_until(1)
    before = rig.lot.run.note
    rig.lot.take_over(0)
    assert (before, rig.lot.run.note, rig.lot.run.handfuls) == (FIRST, None, {})


def test_the_rest_of_a_handful_whose_first_record_is_the_culprit_go_alone() -> None:
    rig = cautious_rig(*transaction(100, 1, 2, 3), noted_deaths=3)
    rig.lot.run.handfuls[FIRST] = 3
    again = Rig(*transaction(100, 1, 2, 3), eager=True, lot=rig.lot)
    handed_out = watch_notes(again)
    again.run_until(3)
    assert [count for _, count in handed_out] == [1, 1]


def test_handfuls_are_forgotten_when_the_caution_is_over_and_else_nothing_is_written() -> None:
    rigs = [cautious_rig(*transaction(100, 1), handful=handful) for handful in (0, 2)]
    for rig in rigs:
        rig.run_until(6)
    assert [rig.lot.calls.count("forget_handfuls") for rig in rigs] == [0, 1]
    assert [rig.dispatch.caution.is_on for rig in rigs] == [False, False]


def test_of_a_suspicious_handful_one_record_is_out() -> None:
    rig = cautious_rig(*transaction(100, 1, 2), eager=False, handful=2)
    rig.run_until(3)
    assert len(rig.sink.published) == 1


def test_nobody_is_noted_alone_while_a_broker_is_waited_for() -> None:
    rig = cautious_rig(*transaction(100, 1, 2), eager=False, handful=2)
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


def test_a_frame_that_takes_long_to_arrive_is_no_silence() -> None:
    rig = cautious_rig(*transaction(100, 1)[:-1], answer=None)
    rig.stream.is_receiving = True
    assert rig.run_until(20) is None
