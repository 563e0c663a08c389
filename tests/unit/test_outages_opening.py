"""Topics that are well again: probed in turn, opened in order, with the cluster coming and going."""

from __future__ import annotations

from concurrent.futures import Future
from itertools import pairwise

import pytest

from cdc_relay.delivery.failures import judge
from cdc_relay.dispatch import outages as outages_module
from cdc_relay.dispatch.outages import Phase
from cdc_relay.errors import AwayError
from cdc_relay.model import Failure
from tests.unit.dispatch_rig import BROKEN, MISSING, Rig
from tests.unit.outages_rig import closed_rig

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


@pytest.mark.parametrize(("records", "batch"), [(4_000, 1_000), (100, 50)])
def test_what_waited_for_a_repaired_topic_goes_out_by_the_thousand_or_half_a_window(records: int, batch: int) -> None:
    """By two hundred, the round trips between lot and broker were most of the time; and the stream flows beside it."""
    rig = closed_rig(eager=False, records=records)
    for _ in range(15):
        rig.write(*[("calm", "b")] * 100)
        rig.turn(2)
    rig.sink.sick_topics.clear()
    rig.run(3)
    rig.accept()
    rig.turn(3)
    assert len(rig.out("calm")) == batch


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
    while all(track.future is None for track in rig.feed._topics):
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
