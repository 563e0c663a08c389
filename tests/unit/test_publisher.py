"""A record's way out or into the lot: what each verdict means for it, for its key and for its neighbours."""

from __future__ import annotations

import pytest

from cdc_relay.delivery.failures import judge
from cdc_relay.dispatch import publisher as publisher_module
from cdc_relay.errors import SinkError
from cdc_relay.parking.entry import Status
from tests.unit.dispatch_rig import BROKEN, MISSING, POISON, UNREACHABLE, Rig

TOO_LARGE = judge("MSG_SIZE_TOO_LARGE", "too large together")
TOO_LARGE_ALONE = judge("MSG_SIZE_TOO_LARGE", "too large", was_alone=True)
INNOCENT = judge("_INVALID_DIFFERENT_RECORD", "another one was bad")


# --- record: parked


def test_a_record_that_fails_is_parked_and_then_settled() -> None:
    rig = Rig(eager_jobs=False)
    rig.write(("calm", "k"))
    rig.turn()
    rig.reject(rig.out()[0], BROKEN)
    assert rig.intake.ledger.safe_lsn == 0  # not before it is durable
    rig.jobs.run()
    rig.turn()
    assert (rig.statuses(), rig.intake.ledger.safe_lsn) == (["retrying failure"], 100)


def test_a_failure_for_good_is_dead_at_once_and_counted() -> None:
    rig = Rig()
    committed = rig.write(("calm", "k"))
    rig.turn()
    rig.reject(rig.out()[0], POISON)
    rig.turn()
    assert rig.row(committed).status is Status.DEAD
    assert rig.stats.dead_count == 1


def test_a_row_without_a_route_is_parked_with_its_columns() -> None:
    rig = Rig()
    committed = rig.write(("nowhere", "k"))
    rig.turn(2)
    row = rig.row(committed)
    assert (row.status, row.record) == (Status.DEAD, None)
    assert row.columns is not None
    assert (rig.intake.ledger.safe_lsn, rig.intake.window.record_count) == (100, 0)


def test_one_bad_record_does_not_keep_the_others() -> None:
    rig = Rig()
    rig.write(("calm", "k"), ("calm", "k"), ("other", "k"))
    rig.turn()
    bad, *others = rig.out()
    rig.reject(bad, POISON)
    rig.accept(*others)
    rig.turn()
    assert (rig.statuses(), rig.intake.ledger.safe_lsn) == (["dead failure"], 100)


# --- batch: sent again alone


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


# --- cluster and producer: nothing is parked


def test_an_outage_of_the_cluster_parks_nothing_however_long() -> None:
    rig = Rig()
    rig.sink.away = "no broker"
    rig.write(("calm", "a"), ("strict", "a"))
    rig.turn()
    for _ in range(200):
        for slip in rig.out():
            rig.sink.reject(slip, UNREACHABLE)
        rig.run(1.1, step=0.5)
    assert (rig.statuses(), rig.outages.closed, rig.intake.ledger.safe_lsn) == ([], {}, 0)
    rig.sink.away = ""
    rig.run(2)
    rig.accept()
    assert rig.intake.ledger.safe_lsn == 100


def test_what_the_cluster_refused_goes_out_again_after_a_second_in_order() -> None:
    rig = Rig()
    rig.write(("calm", "a"), ("calm", "b"))
    rig.turn()
    for slip in reversed(rig.out()):
        rig.sink.reject(slip, UNREACHABLE)
    rig.turn()
    assert rig.out() == []
    rig.clock.now += 0.9
    rig.turn()
    assert rig.out() == []
    rig.clock.now += 0.2
    rig.turn()
    assert rig.numbers() == [1, 2, 1, 2]


def test_a_producer_that_broke_ends_the_session() -> None:
    rig = Rig()
    rig.write(("calm", "a"))
    rig.turn()
    rig.sink.reject(rig.out()[0], judge("_FATAL", "fenced"))
    with pytest.raises(SinkError, match="fenced"):
        rig.turn()


# --- strict: one of a key is out


def test_one_record_of_a_strict_key_is_out_at_a_time() -> None:
    rig = Rig()
    rig.write(("strict", "k"), ("strict", "k"), ("strict", "l"), ("calm", "k"), ("calm", "k"))
    rig.turn()
    assert rig.numbers() == [1, 3, 4, 5]
    rig.accept(rig.out()[0])
    assert rig.numbers() == [1, 3, 4, 5, 2]


def test_a_verdict_sends_what_waits_behind_the_failed_record_into_the_lot() -> None:
    rig = Rig()
    rig.write(("strict", "k"), ("strict", "k"), ("strict", "k"), ("strict", "l"))
    rig.turn()
    rig.reject(rig.out()[0], BROKEN)
    rig.write(("strict", "k"), ("strict", "l"))
    rig.turn(2)
    assert rig.statuses() == ["retrying failure", "behind behind", "behind behind", "behind behind"]
    assert rig.numbers() == [1, 4]  # the other key waits for nobody but itself


def test_records_behind_follow_in_order_when_the_failed_one_is_published() -> None:
    rig = Rig()
    rig.write(("strict", "k"), ("strict", "k"), ("strict", "k"))
    rig.turn()
    rig.reject(rig.out()[0], BROKEN)
    rig.sink.eager = True
    rig.write(("strict", "k"))
    rig.run(3)
    assert rig.numbers() == [1, 1, 2, 3, 4]
    assert {row.status for row in rig.lot.rows.values()} == {Status.PUBLISHED}
    rig.write(("strict", "k"))
    rig.run(1)
    assert rig.numbers()[-1] == 5
    assert (len(rig.lot.rows), list(rig.dispatch.entrance.gates)) == (4, [])  # the key is open: not through the lot


def test_the_rest_of_a_key_that_overflows_waits_in_the_lot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher_module, "_LANE_LIMIT", 2)
    rig = Rig()
    rig.write(*[("strict", "k")] * 5)
    rig.turn(2)
    assert rig.statuses() == ["behind behind", "behind behind"]
    rig.sink.eager = True
    rig.run(2)
    assert rig.numbers() == [1, 2, 3, 4, 5]


def test_the_overflow_is_at_a_thousand() -> None:
    rig = Rig(records=2000)
    rig.write(*[("strict", "k")] * 1003)
    rig.turn(3, reads=2000)
    assert len(rig.lot.rows) == 2


def test_a_dead_record_is_passed_where_the_route_says_continue() -> None:
    rig = Rig()
    rig.write(("strict", "k"), ("strict", "k"))
    rig.turn()
    rig.reject(rig.out()[0], POISON)
    rig.turn()
    assert (rig.numbers(), rig.statuses()) == ([1, 2], ["dead failure"])


def test_a_dead_record_holds_its_key_where_the_route_says_so() -> None:
    rig = Rig()
    committed = rig.write(("hold", "k"), ("hold", "k"), ("hold", "l"))
    rig.turn()
    rig.reject(rig.out()[0], POISON)
    rig.sink.eager = True
    rig.run(60, step=0.5)
    assert (rig.numbers(), rig.row(committed, 1).status) == ([1, 3], Status.BEHIND)
    rig.lot.retry(rig.row(committed))
    rig.run(1)
    assert rig.numbers() == [1, 3, 1, 2]


def test_a_discarded_head_lets_its_key_go() -> None:
    rig = Rig()
    committed = rig.write(("hold", "k"), ("hold", "k"))
    rig.turn()
    rig.reject(rig.out()[0], POISON)
    rig.turn(2)
    rig.lot.drop(rig.row(committed))
    rig.sink.eager = True
    rig.run(1)
    assert rig.numbers() == [1, 2]
    assert list(rig.dispatch.entrance.gates) == []


def test_a_resent_strict_record_keeps_its_place() -> None:
    rig = Rig()
    rig.write(("strict", "k"), ("strict", "k"))
    rig.turn()
    rig.reject(rig.out()[0], TOO_LARGE)
    rig.reject(rig.out()[0], UNREACHABLE)
    rig.sink.eager = True
    rig.run(2)
    assert rig.numbers() == [1, 1, 1, 2]


# --- the lot away


def test_with_the_lot_away_nothing_is_settled_and_it_is_said() -> None:
    rig = Rig()
    rig.lot.away.add("park")
    rig.write(("calm", "a"), ("calm", "b"))
    rig.turn()
    for slip in rig.out():
        rig.sink.reject(slip, POISON)
    rig.run(5)
    assert (rig.statuses(), rig.intake.ledger.safe_lsn, rig.intake.window.record_count) == ([], 0, 2)
    assert rig.dispatch.trouble == "the lot is away"


def test_what_could_not_be_parked_is_parked_later_in_order() -> None:
    rig = Rig()
    rig.lot.away.add("park")
    for number in range(3):
        rig.write(("calm", str(number)))
        rig.turn()
        rig.reject(rig.out()[0], POISON)
    rig.lot.away.clear()
    rig.run(3)
    assert [row.position[0] for row in rig.lot.rows.values()] == [99, 199, 299]
    assert (rig.dispatch.trouble, rig.intake.ledger.safe_lsn) == ("", 300)


def test_other_records_flow_while_the_lot_is_away() -> None:
    rig = Rig()
    rig.lot.away.add("*")
    rig.write(("calm", "a"))
    rig.turn()
    rig.reject(rig.out()[0], POISON)
    rig.write(("calm", "b"))
    rig.run(1)
    assert rig.numbers() == [1, 2]


def test_a_full_lot_is_emptied_although_nothing_can_be_parked() -> None:
    """What keeps the lot full waits for a topic that is well again: claiming it is what makes room."""
    rig = Rig(records=10)
    rig.write(("calm", "a"))
    rig.turn()
    rig.reject(rig.out()[0], MISSING)
    rig.turn(2)
    rig.lot.limit_records = 1
    rig.write(*[("calm", "b")] * 20)
    rig.run(12)
    rig.sink.eager = True
    rig.run(60)
    assert (rig.lot.live(), rig.outages.closed, rig.intake.ledger.safe_lsn) == ([], {}, 200)


def test_a_full_lot_is_emptied_although_its_topic_closed_once_more() -> None:
    rig = Rig(records=10)
    rig.write(("calm", "a"))
    rig.turn()
    rig.reject(rig.out()[0], MISSING)
    rig.turn(2)
    rig.lot.limit_records = 1
    rig.write(*[("calm", "b")] * 20)
    while not rig.out():
        rig.run(0.5)
    rig.reject(rig.out()[0], MISSING)
    rig.sink.eager = True
    rig.run(60)
    assert (rig.lot.live(), rig.outages.closed, rig.intake.ledger.safe_lsn) == ([], {}, 200)


def test_what_came_back_is_parked_although_others_wait_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lot is full of later records of a key: the earlier ones must get there too, or none could ever leave."""
    monkeypatch.setattr(publisher_module, "_LANE_LIMIT", 1)
    rig = Rig(records=10)
    rig.write(("strict", "k"), ("strict", "k"), ("strict", "k"), ("calm", "x"))
    rig.turn(2)
    assert rig.statuses() == ["behind behind"]
    rig.lot.limit_records = 1
    rig.reject(rig.out("calm")[0], BROKEN)
    rig.turn(2)
    rig.reject(rig.out("strict")[0], BROKEN)
    rig.sink.eager = True
    rig.run(60)
    assert (rig.lot.live(), rig.intake.ledger.safe_lsn) == ([], 100)


def test_a_full_lot_is_emptied_by_the_next_session() -> None:
    """What the slot delivers again is older than what the lot has: it gets in, or nothing could ever leave."""
    rig = Rig()
    rig.write(("calm", "a"), due_in=3.0)
    rig.write(("calm", "b"), due_in=3.0)
    rig.turn(2)
    rig.lot.limit_records = 1
    del rig.lot.rows[1]
    rig.restart(is_heard=False)
    rig.sink.eager = True
    rig.run(60)
    assert (rig.lot.live(), rig.intake.ledger.safe_lsn) == ([], 200)


def test_a_full_lot_is_emptied_although_more_came_with_what_was_delivered_again() -> None:
    rig = Rig()
    rig.write(("calm", "a"), due_in=3.0)
    rig.turn(2)
    rig.lot.limit_records = 1
    rig.write(("calm", "b"), due_in=3.0)
    rig.restart(is_heard=False)
    rig.sink.eager = True
    rig.run(60)
    assert (rig.lot.live(), rig.intake.ledger.safe_lsn) == ([], 200)


def test_a_full_lot_does_not_keep_a_topic_from_opening() -> None:
    """It is full of what waits for the topic to open, and the topic waits for what finds no room."""
    rig = Rig()
    rig.lot.limit_records = 1
    rig.write(("calm", "a"), due_in=0.5)
    rig.turn(2)
    rig.write(("calm", "b"))
    rig.turn()
    rig.reject(rig.out()[0], MISSING)
    rig.turn(2)
    rig.write(("calm", "c"))
    rig.sink.eager = True
    rig.run(60)
    assert (rig.lot.live(), rig.outages.closed, rig.intake.ledger.safe_lsn) == ([], {}, 300)


def test_a_reconnect_does_not_take_the_rest_of_a_transaction_over_the_limit() -> None:
    """Only what is older than the newest parked row must not wait for room."""
    rig = Rig(records=1000, eager_sink=True)
    rig.lot.limit_records = 100
    rig.sink.sick_topics["calm"] = MISSING
    rig.write(*[("calm", str(number)) for number in range(3000)])
    rig.run(20)
    parked_count = len(rig.lot.rows)
    assert 100 <= parked_count < 1000
    rig.restart()
    rig.run(20)
    assert (len(rig.lot.rows), rig.dispatch.trouble) == (parked_count, "the lot is at its limit")


# --- routed again, copied, forgotten


def test_what_is_routed_again_keeps_the_order_of_its_new_route() -> None:
    rig = Rig()
    committed = rig.write(("nowhere", "k"), ("nowhere", "k"))
    rig.lot.dead_letter_topic = None
    rig.turn(2)
    rig.repaired = "strict"
    for ordinal in (0, 1):
        rig.lot.retry(rig.row(committed, ordinal))
    rig.run(1)
    assert [slip.ordinal for slip in rig.out("strict")] == [0]
    rig.accept()
    rig.run(1)
    assert [slip.ordinal for slip in rig.out("strict")] == [1]


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


def test_a_strict_record_that_is_taken_back_leaves_nothing_behind() -> None:
    rig = Rig()
    rig.write(("strict", "k"), ("strict", "l"))
    rig.turn()
    rig.reject(rig.out()[0], MISSING)
    rig.turn(2)
    assert (rig.out(), rig.publisher._scopes) == ([], {})
