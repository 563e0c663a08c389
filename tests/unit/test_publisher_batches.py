"""A verdict on a batch: who is sent again, who travels alone, and that only the culprit is parked."""

from __future__ import annotations

import pytest

from cdc_relay.delivery.failures import judge
from cdc_relay.parking.entry import Status
from cdc_relay.sinks.sink import TopicLimits
from tests.unit.dispatch_rig import MISSING, POISON, UNREACHABLE, Rig

TOO_LARGE = judge("MSG_SIZE_TOO_LARGE", "too large together")
TOO_LARGE_ALONE = judge("MSG_SIZE_TOO_LARGE", "too large", was_alone=True)
INNOCENT = judge("_INVALID_DIFFERENT_RECORD", "another one was bad")


def refuse_all(rig: Rig, code: str) -> None:
    """A verdict on the batch in which they all were."""
    for slip in rig.out():
        rig.sink.reject(slip, judge(code, "one of the batch"))
    rig.turn()


def test_of_a_refused_batch_only_the_culprit_is_parked() -> None:
    """A keyless record on a compacted topic: it goes alone, the others once more as usual."""
    rig = Rig()
    committed = rig.write(("calm", "a"), ("calm", None), ("calm", "c"))
    rig.turn()
    refuse_all(rig, "INVALID_RECORD")
    assert [record.key for record in rig.sink.alone] == [None]
    culprit = next(slip for slip in rig.out() if slip.ordinal == 1)
    rig.sink.reject(culprit, judge("INVALID_RECORD", "it has no key", was_alone=True))
    rig.turn()
    rig.accept()
    rig.turn()
    assert (rig.statuses(), rig.row(committed, 1).status) == (["dead failure"], Status.DEAD)
    assert rig.intake.ledger.safe_lsn == 100


def test_who_is_refused_twice_goes_alone_and_so_the_culprit_is_found_whoever_it_is() -> None:
    rig = Rig()
    committed = rig.write(("calm", "a"), ("calm", "b"), ("calm", "c"))
    rig.turn()
    refuse_all(rig, "INVALID_RECORD")
    assert rig.sink.alone == []  # none of them looks guilty
    refuse_all(rig, "INVALID_RECORD")
    assert [record.key for record in rig.sink.alone] == [b"a", b"b", b"c"]
    first, culprit, last = rig.out()
    rig.sink.reject(culprit, judge("INVALID_RECORD", "it is bad", was_alone=True))
    rig.accept(first, last)
    rig.turn()
    assert (rig.statuses(), rig.row(committed, 1).status) == (["dead failure"], Status.DEAD)
    assert rig.intake.ledger.safe_lsn == 100


def test_a_follower_that_its_topic_would_refuse_travels_alone() -> None:
    rig = Rig()
    rig.dispatch.traffic.learn({"strict": TopicLimits(batch_bytes=500)})
    rig.write(("strict", "k"))
    rig.write(("strict", "k"), payload=f'{{"a": "{"x" * 500}"}}')
    rig.write(("strict", "k"))
    rig.turn()
    for alone_count in (0, 1, 1):
        assert (len(rig.out()), len(rig.sink.alone)) == (1, alone_count)
        rig.accept()
    assert (rig.numbers(), rig.intake.ledger.safe_lsn) == ([1, 2, 3], 300)


@pytest.mark.parametrize("code", ["INVALID_TIMESTAMP", "POLICY_VIOLATION", "INVALID_MSG", "UNKNOWN"])
def test_a_batch_that_is_refused_for_what_cannot_be_guessed_is_sent_again_one_by_one(code: str) -> None:
    rig = Rig()
    rig.write(("calm", "a"), ("calm", "b"))
    rig.turn()
    refuse_all(rig, code)
    assert [record.key for record in rig.sink.alone] == [b"a", b"b"]


def test_the_likes_of_a_culprit_travel_alone_from_then_on() -> None:
    rig = Rig()
    rig.write(("calm", None))
    rig.turn()
    refuse_all(rig, "INVALID_RECORD")
    rig.reject(rig.out()[0], judge("INVALID_RECORD", "it has no key", was_alone=True))
    rig.write(("calm", "a"), ("calm", None), ("other", None))
    rig.turn()
    assert [(record.topic, record.key) for record in rig.sink.alone] == [("calm", None)] * 2


def test_the_likes_of_a_culprit_travel_alone_after_their_topic_was_closed_too() -> None:
    rig = Rig()
    rig.write(("calm", None))
    rig.turn()
    refuse_all(rig, "INVALID_RECORD")
    rig.reject(rig.out()[0], judge("INVALID_RECORD", "it has no key", was_alone=True))
    rig.write(("calm", "a"))
    rig.turn()
    rig.reject(rig.out("calm")[0], MISSING)
    rig.sink.eager = True
    rig.run(10)
    assert rig.outages.closed == {}
    rig.sink.alone.clear()
    rig.write(("calm", None))
    rig.run(1)
    assert len(rig.sink.alone) == 1


def test_of_a_batch_that_is_too_large_the_large_ones_go_alone() -> None:
    rig = Rig()
    committed = rig.write(("calm", "small"))
    rig.write(("calm", "large"), payload="x" * 1000)
    rig.turn()
    refuse_all(rig, "MSG_SIZE_TOO_LARGE")
    assert [record.key for record in rig.sink.alone] == [b"large"]
    large = next(slip for slip in rig.out() if slip.position != (committed.commit_lsn, 0))
    rig.reject(large, TOO_LARGE_ALONE)
    rig.accept()
    rig.turn()
    assert (rig.statuses(), rig.intake.ledger.safe_lsn) == (["retrying failure"], 200)
    rig.write(("calm", "small"))
    rig.write(("calm", "large"), payload="x" * 2000)
    rig.turn()
    assert [record.key for record in rig.sink.alone] == [b"large"] * 2


def test_an_innocent_record_of_a_batch_is_sent_again_as_usual() -> None:
    rig = Rig()
    rig.write(("calm", "a"))
    rig.turn()
    rig.reject(rig.out()[0], INNOCENT)
    assert (rig.numbers(), rig.sink.alone) == ([1, 1], [])
    rig.accept()
    assert (rig.statuses(), rig.intake.ledger.safe_lsn) == ([], 100)


def test_records_that_are_too_large_only_together_make_their_topic_narrow() -> None:
    rig = Rig()
    rig.write(("calm", "a"), ("calm", "b"))
    rig.turn()
    for slip in rig.out():
        rig.sink.reject(slip, TOO_LARGE)
    rig.turn()
    rig.accept()
    rig.write(("calm", "c"), ("other", "d"))
    rig.turn()
    assert [record.key for record in rig.sink.alone] == [b"a", b"b", b"c"]  # the other topic is as it was


def test_a_record_that_is_too_large_alone_makes_no_topic_narrow() -> None:
    rig = Rig()
    rig.write(("calm", "large"), payload="x" * 1000)
    rig.turn()
    rig.reject(rig.out()[0], TOO_LARGE)
    rig.reject(rig.out()[0], TOO_LARGE_ALONE)
    rig.write(("calm", "b"))
    rig.turn()
    assert rig.statuses() == ["retrying failure"]
    assert [record.key for record in rig.sink.alone] == [b"large"]


def test_a_resent_strict_record_keeps_its_place() -> None:
    rig = Rig()
    rig.write(("strict", "k"), ("strict", "k"))
    rig.turn()
    rig.reject(rig.out()[0], TOO_LARGE)
    rig.reject(rig.out()[0], UNREACHABLE)
    rig.sink.eager = True
    rig.run(2)
    assert rig.numbers() == [1, 1, 1, 2]


def test_one_copy_that_is_refused_does_not_keep_the_others_from_the_dead_letter_topic() -> None:
    """The broker judges them together: each alone finds the culprit."""
    rig = Rig()
    committed = rig.write(("calm", None), ("calm", "a"), ("calm", "b"))
    rig.turn()
    for slip in rig.out():
        rig.sink.reject(slip, POISON)
    rig.run(1)
    refuse_all(rig, "INVALID_RECORD")
    assert len(rig.out("dlq")) == 3
    culprit, *others = sorted(rig.out("dlq"), key=lambda slip: slip.position)
    rig.sink.reject(culprit, judge("INVALID_RECORD", "it has no key", was_alone=True))
    rig.accept(*others)
    rig.turn(2)
    assert [rig.row(committed, ordinal).is_copied for ordinal in range(3)] == [False, True, True]
