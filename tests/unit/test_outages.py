"""Topics that are closed: the others flow, their records wait in order, and go out first when they are well."""

from __future__ import annotations

from concurrent.futures import Future
from itertools import pairwise

import pytest

from cdc_relay.delivery.failures import judge
from cdc_relay.dispatch import outages as outages_module
from cdc_relay.dispatch.outages import Phase
from cdc_relay.errors import AwayError
from cdc_relay.model import Failure
from cdc_relay.parking.entry import Status
from tests.unit.dispatch_rig import BROKEN, MISSING, UNREACHABLE, Rig


def closed_rig(*, eager: bool = True) -> Rig:
    """`calm` is missing and was found to be so; record 1 waits for it."""
    rig = Rig()
    rig.sink.sick_topics["calm"] = MISSING
    rig.write(("calm", "a"))
    rig.turn()
    rig.reject(rig.out()[0], MISSING)
    rig.turn(2)
    rig.sink.eager = eager
    return rig


# --- closing


def test_a_missing_topic_s_records_wait_and_the_others_flow() -> None:
    rig = closed_rig()
    rig.write(("calm", "b"), ("other", "c"))
    rig.run(1)
    assert rig.statuses() == ["retrying topic_closed"] * 2
    assert (rig.numbers(), rig.stats.closed_topics) == ([1, 3], ("calm",))
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
    rig.publisher.take_back()
    assert rig.publisher.out == {"strict": 1}


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


# --- probing and opening


def test_a_closed_topic_is_probed_with_backoff() -> None:
    rig = Rig()
    asked: list[float] = []
    rig.sink.sick_topics["calm"] = MISSING

    def probe(topic: str) -> Failure:
        asked.append(rig.clock.now)
        return MISSING

    rig.sink.probe_topic = probe  # type: ignore[method-assign]  # for this test
    rig.write(("calm", "a"))
    rig.turn()
    rig.reject(rig.out()[0], MISSING)
    rig.run(200, step=0.1)
    pauses = [round(later - earlier) for earlier, later in pairwise(asked)]
    assert pauses[:5] == [1, 2, 4, 8, 16]
    assert set(pauses[5:]) == {30}


def test_a_repaired_topic_gets_its_records_first_and_in_order() -> None:
    rig = closed_rig()
    rig.write(*[("calm", "b")] * 3)
    rig.turn(3)
    rig.sink.sick_topics.clear()
    rig.sink.published.clear()
    rig.run(5)
    assert rig.numbers() == [1, 2, 3, 4]
    assert (rig.outages.closed, rig.statuses()) == ({}, ["published topic_closed"] * 4)
    rig.write(("calm", "c"))
    rig.turn()
    assert rig.numbers()[-1] == 5
    assert len(rig.lot.rows) == 4


def test_the_first_record_of_a_repaired_topic_is_a_trial() -> None:
    rig = closed_rig(eager=False)
    rig.write(*[("calm", "b")] * 3)
    rig.turn(3)
    rig.sink.sick_topics.clear()
    rig.run(3)
    assert len(rig.out("calm")) == 1
    rig.accept()
    rig.turn(3)
    assert len(rig.out("calm")) == 3


def test_a_trial_that_fails_closes_the_topic_again() -> None:
    rig = closed_rig(eager=False)
    rig.sink.sick_topics.clear()
    rig.run(3)
    rig.reject(rig.out()[0], MISSING)
    rig.turn(2)
    [row] = rig.lot.rows.values()
    assert (rig.outages.closed["calm"].phase, row.attempts, row.is_claimed) == (Phase.CLOSED, 0, False)


def test_a_topic_under_pressure_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    """More comes in than goes out: the loop stops reading until the topic has caught up."""
    monkeypatch.setattr(outages_module, "_SLACK_COUNT", 5)
    rig = closed_rig()
    rig.sink.sick_topics.clear()
    for _ in range(400):
        rig.write(*[("calm", "b")] * 5)
        rig.turn(reads=8)
        rig.clock.now += 0.02
    assert rig.outages.closed == {}


def test_a_record_that_comes_while_the_topic_is_found_empty_is_not_left_behind() -> None:
    rig = closed_rig()
    rig.jobs.eager = False
    rig.sink.sick_topics.clear()
    for _ in range(200):
        rig.jobs.run(1)
        if rig.outages.closed and rig.outages.closed["calm"].phase is Phase.DRAINING:
            rig.write(("calm", "b"))
        rig.turn()
        rig.clock.now += 0.05
    rig.jobs.eager = True
    rig.jobs.run()
    rig.run(5)
    assert (rig.lot.live(), rig.outages.closed) == ([], {})


def test_a_record_that_is_parked_while_the_topic_is_asked_for_the_last_time_is_not_left_behind() -> None:
    rig = closed_rig()
    [row] = rig.lot.rows.values()
    rig.lot.drop(row)
    rig.jobs.eager = False
    rig.sink.sick_topics.clear()
    while "calm" not in rig.feed._topics or rig.feed._topics["calm"].future is None:
        rig.jobs.run()
        rig.turn()
        rig.clock.now += 0.05
    rig.write(("calm", "b"))
    rig.turn()
    rig.jobs.run()  # the claim that found nothing, and then the parking
    rig.jobs.eager = True
    rig.run(5)
    assert (rig.lot.live(), rig.outages.closed) == ([], {})


def test_a_new_session_begins_with_what_waits_for_its_topic() -> None:
    rig = closed_rig()
    rig.restart()
    rig.write(("calm", "b"), ("other", "c"))
    rig.sink.published.clear()
    rig.turn(2)
    assert rig.numbers() == [3]
    rig.sink.sick_topics.clear()
    rig.run(5)
    assert rig.numbers() == [3, 1, 2]
    assert rig.outages.closed == {}


def test_a_strict_key_s_records_that_waited_for_topic_and_head_all_go() -> None:
    """The topic opens while the key's head is not due yet: what waited for the topic follows the head."""
    rig = Rig()
    rig.write(("strict", "k"), ("strict", "l"))
    rig.turn()
    rig.reject(rig.out()[0], BROKEN)
    rig.sink.sick_topics["strict"] = MISSING
    rig.reject(rig.out()[0], MISSING)
    rig.write(("strict", "k"))
    rig.turn(3)
    rig.sink.sick_topics.clear()
    rig.sink.eager = True
    rig.run(30)
    assert rig.lot.live() == []
    assert [number for number in rig.numbers() if number != 2] == [1, 1, 3]


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


# --- the cluster comes and goes


def test_a_cluster_that_is_away_is_asked_once_not_once_per_topic() -> None:
    """Each question takes the helper seconds, and parks and marks wait behind it."""
    rig = Rig()
    asked: list[str] = []

    def probe(topic: str) -> Failure | None:
        asked.append(topic)
        raise AwayError("no broker")

    rig.sink.probe_topic = probe  # type: ignore[method-assign]  # for this test
    rig.write(("calm", "a"), ("other", "b"), ("strict", "c"), ("hold", "d"))
    rig.run(32, step=0.1)
    assert len(asked) == 1


def test_closed_topics_are_probed_one_at_a_time() -> None:
    rig = Rig()
    rig.write(("calm", "a"), ("other", "b"), ("strict", "c"))
    rig.turn()
    for slip in rig.out():
        rig.sink.reject(slip, MISSING)
    rig.turn()
    asked: list[Future[Failure | None]] = []

    def probe(topic: str) -> Future[Failure | None]:
        asked.append(Future())
        return asked[-1]

    rig.outages._probe = probe
    rig.run(10)
    assert len(asked) == 1
    asked[0].set_result(MISSING)
    rig.run(1)
    assert len(asked) == 2


def test_the_leader_that_is_back_last_does_not_get_its_topic_closed() -> None:
    """An outage of the cluster parks nothing: one topic moves again, the other a moment later."""
    rig = Rig(eager_jobs=False)
    rig.write(("calm", "a"), ("other", "b"))
    rig.turn(2)
    rig.jobs.run()
    rig.sink.away = "no broker"
    rig.run(31)
    rig.sink.away = ""
    rig.accept(*rig.out("calm"))
    rig.jobs.eager = True
    rig.jobs.run()
    rig.run(1.5)
    rig.accept(*rig.out("other"))
    rig.run(10)
    assert (rig.lot.rows, rig.outages.closed, rig.numbers()) == ({}, {}, [1, 2])


def test_what_a_cluster_says_while_it_comes_back_closes_no_topic() -> None:
    """A broker that has just started does not know all leaders."""
    rig = Rig()
    rig.sink.away = "no broker"
    rig.write(("calm", "a"))
    rig.run(59.5)
    rig.sink.away = ""
    rig.sink.sick_topics["calm"] = judge("LEADER_NOT_AVAILABLE", "no leader yet")
    rig.run(4)
    rig.sink.sick_topics.clear()
    rig.accept()
    rig.run(40)
    assert (rig.lot.rows, rig.outages.closed, rig.numbers()) == ({}, {}, [1])
