"""Keys that may go on: all of them do, in order, and not all at once."""

from __future__ import annotations

import pytest

from cdc_relay.parking.entry import Status
from tests.unit.dispatch_rig import BROKEN, MISSING, POISON, Rig


def behind_rig(*, keys: int, records: int = 100) -> Rig:
    """The head of each key is dead and holds it; twenty of each key wait behind."""
    rig = Rig(records=records, eager_sink=True)
    rig.sink.verdict = lambda record: POISON if record.topic == "hold" else None
    rows = [("hold", str(number)) for number in range(keys)]
    rig.write(*rows)
    rig.run(2)
    for _ in range(20):
        rig.write(*rows)
    rig.run(10)
    rig.sink.verdict = lambda record: None
    return rig


def discard_the_dead(rig: Rig) -> None:
    for row in rig.lot.live():
        if row.status is Status.DEAD:
            rig.lot.drop(row)


def test_many_keys_that_may_go_on_do_not_come_into_memory_at_once() -> None:
    rig = behind_rig(keys=100)
    rig.sink.eager = False
    discard_the_dead(rig)
    rig.run(5)
    assert 0 < rig.intake.window.record_count <= 300  # of two thousand


def test_many_keys_that_may_go_on_all_go_on() -> None:
    rig = behind_rig(keys=100)
    discard_the_dead(rig)
    rig.run(60)
    assert (rig.lot.live(), list(rig.dispatch.entrance.gates)) == ([], [])


@pytest.mark.parametrize("change", [{"key": b"other"}, {"topic": "hold"}], ids=["key", "topic"])
def test_a_record_behind_that_gets_another_key_or_topic_waits_for_nobody(change: dict[str, str]) -> None:
    rig = Rig(eager_sink=True)
    rig.sink.verdict = lambda record: BROKEN if (record.topic, record.key) == ("strict", b"k") else None
    rig.write(("strict", "k"))
    edited = rig.write(("strict", "k"))
    rig.turn(5)
    row = rig.row(edited)
    assert (row.status, row.record is None) == (Status.BEHIND, False)
    row.record = row.record._replace(**change)  # type: ignore[union-attr,arg-type]  # it has a record
    rig.lot.was_notified = True
    rig.run(5)
    assert row.status is Status.PUBLISHED


def test_the_keys_of_a_topic_that_opens_are_asked_about_together() -> None:
    """Nothing is read meanwhile, and each question takes the helper's time."""
    rig = Rig(records=1000, eager_sink=True)
    rig.sink.sick_topics["strict"] = MISSING
    rig.write(*[("strict", str(number)) for number in range(300)])
    rig.turn(5)
    rig.restart()
    rig.turn(5)
    rig.sink.sick_topics.clear()
    rig.lot.calls.clear()
    rig.run(5)
    assert (rig.lot.live(), list(rig.dispatch.entrance.gates)) == ([], [])
    assert rig.lot.calls.count("claim_key") <= 10


def test_a_row_that_an_operator_has_locked_is_not_asked_for_without_a_pause() -> None:
    rig = behind_rig(keys=1)
    first = next(row for row in rig.lot.live() if row.status is Status.BEHIND)
    first.is_locked = True
    discard_the_dead(rig)
    rig.lot.calls.clear()
    rig.run(10, step=0.005)
    assert rig.lot.calls.count("claim_key") <= 40
    first.is_locked = False
    rig.run(5)
    assert rig.lot.live() == []


@pytest.mark.parametrize("restarts", [False, True])
def test_a_key_leaves_a_full_lot_although_the_window_is_full_of_what_finds_no_room(restarts: bool) -> None:
    """What waits behind a discarded head is what makes room."""
    rig = behind_rig(keys=1)
    rig.lot.limit_records = 1
    rig.write(*[("nowhere", "x")] * 200)
    rig.run(10)
    discard_the_dead(rig)
    if restarts:
        rig.restart()
    rig.run(60)
    assert [row for row in rig.lot.live() if row.status is Status.BEHIND] == []


def test_keys_of_a_topic_that_does_not_answer_do_not_keep_those_of_another() -> None:
    rig = Rig(eager_sink=True)
    rig.sink.verdict = lambda record: POISON if record.topic == "hold" else BROKEN if record.key == b"k" else None
    silent = [("hold", str(number)) for number in range(10)]
    rig.write(*silent)
    rig.run(2)
    rig.write(*silent)
    committed = rig.write(("strict", "k"), ("strict", "k"))
    rig.run(0.3)
    rig.sink.eager, rig.sink.verdict = False, lambda record: None
    discard_the_dead(rig)
    rig.run(1)
    assert len(rig.out("hold")) == 10
    for _ in range(100):
        for slip in rig.out("strict"):
            rig.sink.acknowledge(slip)
        rig.run(0.1)
    assert rig.row(committed, 1).status is Status.PUBLISHED
