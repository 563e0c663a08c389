"""A record's way out or into the lot: what each verdict means for it, for its key and for its neighbours."""

from __future__ import annotations

import pytest

from cdc_relay.delivery.failures import judge
from cdc_relay.dispatch import strict_keys
from cdc_relay.errors import SinkError
from cdc_relay.parking.entry import Status
from tests.unit.dispatch_rig import BROKEN, MISSING, POISON, UNREACHABLE, Rig

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
    monkeypatch.setattr(strict_keys, "_LANE_LIMIT", 2)
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


def test_a_strict_record_that_is_taken_back_leaves_nothing_behind() -> None:
    rig = Rig()
    rig.write(("strict", "k"), ("strict", "l"))
    rig.turn()
    rig.reject(rig.out()[0], MISSING)
    rig.turn(2)
    assert (rig.out(), rig.dispatch.lanes.out) == ([], {})
