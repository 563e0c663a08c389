"""What has to be parked while the lot is away or full: nothing is settled, the rest flows, and a full lot empties."""

from __future__ import annotations

import pytest

from cdc_relay.dispatch import strict_keys
from cdc_relay.parking.entry import Claim
from tests.unit.dispatch_rig import BROKEN, MISSING, POISON, Rig


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
    monkeypatch.setattr(strict_keys, "_LANE_LIMIT", 1)
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


def test_one_report_of_records_from_the_lot_and_from_the_stream() -> None:
    """Each is settled where it belongs, and the strict key's next one follows."""
    rig = Rig()
    rig.write(("calm", "a"))
    rig.turn()
    rig.reject(rig.out()[0], BROKEN)
    while not rig.out():
        rig.run(0.5)
    rig.write(("calm", "b"), ("strict", "c"), ("strict", "c"))
    rig.turn()
    first = rig.out()
    assert [isinstance(slip, Claim) for slip in first] == [True, False, False]
    for slip in first:
        rig.sink.acknowledge(slip)
    rig.turn()
    [second] = rig.out()
    assert (rig.lot.live(), rig.intake.window.record_count) == ([], 1)
    rig.sink.acknowledge(second)
    rig.run(1)
    assert (rig.intake.ledger.safe_lsn, rig.stats.published_count) == (200, 4)
