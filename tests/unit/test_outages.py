"""Topics that are closed, and how that is found out: their records wait in order, and the others flow."""

from __future__ import annotations

import pytest

from cdc_relay.dispatch import outages as outages_module
from cdc_relay.dispatch.outages import Phase
from cdc_relay.parking.entry import Status
from tests.unit.dispatch_rig import BROKEN, MISSING, UNREACHABLE, Rig
from tests.unit.outages_rig import closed_rig

# --- closing


def test_a_missing_topic_s_records_wait_and_the_others_flow() -> None:
    rig = closed_rig()
    rig.write(("calm", "b"), ("other", "c"))
    rig.run(1)
    assert rig.statuses() == ["retrying topic_closed"] * 2
    assert (rig.numbers(), [closure.topic for closure in rig.stats.closed_topics]) == ([1, 3], ["calm"])
    assert rig.intake.ledger.safe_lsn == 200


def test_while_a_topic_closes_nothing_is_read() -> None:
    rig = Rig()
    rig.write(("calm", "a"), ("calm", "b"), ("other", "c"))
    rig.turn()
    rig.reject(rig.out()[0], MISSING)
    rig.write(("other", "d"))
    rig.turn(3)
    assert rig.dispatch.is_paused
    assert rig.numbers() == [1, 2, 3]


def test_a_topic_is_emptied_as_soon_as_only_its_records_are_out() -> None:
    rig = Rig()
    rig.write(("calm", "a"), ("calm", "b"), ("other", "c"))
    rig.turn()
    rig.reject(rig.out()[0], MISSING)
    rig.accept(rig.out("other")[0])
    rig.turn(2)
    assert (rig.out(), rig.dispatch.is_paused) == ([], False)
    assert rig.statuses() == ["retrying topic_closed"] * 2


def test_after_a_second_everything_is_taken_back_and_the_others_go_out_again_in_order() -> None:
    rig = Rig()
    rig.write(("calm", "a"), ("other", "b"), ("calm", "c"), ("other", "d"))
    rig.turn()
    rig.reject(rig.out()[0], MISSING)
    rig.clock.now += 0.9
    rig.turn()
    assert len(rig.out()) == 3
    rig.clock.now += 0.2
    rig.turn(2)
    assert (rig.numbers()[4:], rig.topics_out()) == ([2, 4], ["other", "other"])
    assert [row.position for row in rig.lot.rows.values()] == [(99, 0), (99, 2)]


def test_what_is_out_is_known_after_it_was_taken_back() -> None:
    """Reports that come with the emptying may hand out more: the next of a strict key."""
    rig = Rig()
    rig.write(("calm", "a"), ("calm", "b"), ("strict", "k"), ("strict", "k"))
    rig.turn()
    rig.reject(rig.out()[0], MISSING)
    rig.sink.acknowledge(rig.out("strict")[0])
    rig.dispatch.returns.take_back()
    assert rig.dispatch.traffic.out == {"strict": 1}


def test_what_waits_in_a_closed_topic_s_lanes_waits_in_the_lot() -> None:
    rig = Rig()
    rig.write(*[("strict", "k")] * 3)
    rig.turn()
    rig.reject(rig.out()[0], MISSING)
    rig.turn(2)
    assert rig.statuses() == ["retrying topic_closed"] * 3


def test_waiting_for_a_topic_is_no_attempt_and_never_death() -> None:
    rig = closed_rig()
    rig.run(600, step=0.5)
    [row] = rig.lot.rows.values()
    assert (row.status, row.attempts) == (Status.RETRYING, 0)
    assert rig.intake.window.record_count == 0


def test_parked_records_behind_a_closed_topic_stay_where_they_are() -> None:
    """A key's `behind` records must not be handed out to a topic that is closed, over and over again."""
    rig = Rig()
    rig.write(*[("strict", "k")] * 3, ("strict", "l"))
    rig.turn()
    rig.reject(rig.out()[0], BROKEN)
    rig.sink.sick_topics["strict"] = MISSING
    rig.reject(rig.out()[0], MISSING)
    rig.sink.eager = True
    rig.run(3)
    handed_out = len(rig.sink.published)
    rig.run(20)
    assert len(rig.sink.published) - handed_out <= 5
    rig.sink.sick_topics.clear()
    rig.run(60)
    assert rig.lot.live() == []


def test_a_row_that_is_routed_to_a_closed_topic_does_not_disturb_the_others() -> None:
    rig = closed_rig()
    lost = rig.write(("nowhere", "k"))
    rig.turn(2)
    rig.repaired = "calm"
    rig.lot.retry(rig.row(lost))
    rig.sink.published.clear()
    rig.run(10)
    assert [record.topic for record in rig.sink.published].count("calm") == 0


# --- finding out


def silent_rig() -> Rig:
    """`calm` acknowledges nothing, `other` does."""
    rig = Rig()
    rig.write(("calm", "a"))
    rig.turn()
    for _ in range(70):
        rig.write(("other", "b"))
        rig.turn()
        rig.accept(*rig.out("other"))
        rig.clock.now += 0.5
    return rig


def test_a_topic_that_is_silent_while_others_move_is_closed_after_half_a_minute() -> None:
    rig = silent_rig()
    assert list(rig.outages.closed) == ["calm"]
    assert rig.outages.closed["calm"].failure.code == "not_acknowledged"


def test_one_silent_topic_alone_is_no_reason_to_close_it() -> None:
    rig = Rig()
    rig.write(("calm", "a"))
    rig.run(300, step=0.5)
    assert (rig.outages.closed, rig.statuses()) == ({}, [])


def test_a_silent_topic_that_is_known_to_be_sick_is_closed() -> None:
    rig = Rig()
    rig.sink.sick_topics["calm"] = MISSING
    rig.write(("calm", "a"))
    rig.run(40, step=0.5)
    assert list(rig.outages.closed) == ["calm"]
    assert rig.statuses() == ["retrying topic_closed"]


def test_silence_of_the_whole_cluster_parks_nothing() -> None:
    rig = Rig()
    rig.sink.away = "no broker"
    rig.sink.sick_topics["calm"] = MISSING
    rig.write(("calm", "a"), ("other", "b"), ("strict", "c"))
    rig.run(300, step=0.5)
    assert (rig.outages.closed, rig.statuses()) == ({}, [])


def test_a_probe_that_gets_no_answer_says_nothing_of_the_topic() -> None:
    rig = closed_rig()
    rig.sink.away = "no broker"
    rig.sink.sick_topics.clear()
    rig.run(100, step=0.2)
    assert rig.outages.closed["calm"].phase is Phase.CLOSED
    rig.sink.away = ""
    rig.run(40, step=0.2)
    assert (rig.outages.closed, rig.lot.live()) == ({}, [])


def test_a_strict_record_that_the_cluster_refuses_while_its_topic_closes_keeps_its_place() -> None:
    rig = Rig()
    rig.write(*[("strict", "k")] * 3, ("strict", "l"), ("other", "m"))
    rig.turn()
    first, other, _ = rig.out()
    rig.reject(other, MISSING)
    rig.clock.now += 0.9
    rig.reject(first, UNREACHABLE)
    rig.sink.eager = True
    rig.run(20)
    accepted = [slip.position for slip in rig.sink.accepted if slip.ordinal < 3]
    assert accepted == [(99, 0), (99, 1), (99, 2)]


def read_slowly(rig: Rig, turns: int = 600) -> None:
    """A transaction that takes many turns to read."""
    for _ in range(turns):
        rig.turn(reads=20)
        rig.clock.now += 0.05


def test_a_transaction_that_is_read_again_from_its_middle_does_not_keep_its_topic_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The lot has its first rows, more come than the slack: claims and reading must not wait for each other."""
    monkeypatch.setattr(outages_module, "_SLACK_COUNT", 50)
    rig = Rig(records=1000, eager_sink=True)
    rig.sink.sick_topics["calm"] = MISSING
    rig.write(*[("calm", str(number)) for number in range(300)])
    rig.turn(5, reads=20)
    rig.sink.sick_topics.clear()
    rig.restart()
    read_slowly(rig)
    assert (rig.lot.live(), rig.outages.closed, rig.intake.ledger.safe_lsn) == ([], {}, 100)


def test_rows_that_come_again_before_the_newest_parked_one_do_not_keep_their_topic_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outages_module, "_SLACK_COUNT", 50)
    rig = Rig(records=1000, eager_sink=True)
    rig.sink.sick_topics["calm"] = MISSING
    rig.write(*[("calm", str(number)) for number in range(300)])
    last = rig.write(("calm", "z"))
    rig.run(1)
    newest = rig.row(last)
    rig.lot.rows = {newest.id: newest}  # the process died between two batches
    rig.sink.sick_topics.clear()
    rig.restart(is_heard=False)
    read_slowly(rig)
    assert (rig.lot.live(), rig.outages.closed, rig.intake.ledger.safe_lsn) == ([], {}, 200)
