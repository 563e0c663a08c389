"""The loop and the lot: what is parked is settled, what is due wakes the loop, and a stop leaves claims in order."""

from __future__ import annotations

from cdc_relay.parking.entry import Status
from cdc_relay.stats import State
from tests.unit import frames
from tests.unit.dispatch_rig import BROKEN, MISSING, POISON
from tests.unit.session_rig import SessionRig as Rig
from tests.unit.session_rig import transaction


def test_a_record_without_a_route_is_parked_and_the_rest_flows() -> None:
    bad = frames.insert(b"bad-row", None, b"k", b"Placed", b"{}")
    rig = Rig(*transaction(100, 1), frames.begin(199), bad, frames.commit(200), *transaction(300, 2), eager=True)
    rig.run_until(3)
    assert (rig.confirmed, len(rig.sink.published)) == (300, 2)
    assert [parked.status for parked in rig.lot.rows.values()] == [Status.DEAD]


def test_a_parked_record_is_settled_when_it_is_durable_and_not_before() -> None:
    rig = Rig(*transaction(100, 1))
    rig.jobs.eager = False
    rig.turn(2)
    rig.sink.reject(rig.sink.open[0], POISON)
    rig.run_until(3)
    assert rig.confirmed == 0
    rig.jobs.eager = True
    rig.jobs.run()
    rig.run_until(3)
    assert rig.confirmed == 100


def test_with_the_lot_away_the_relay_holds_and_says_so() -> None:
    rig = Rig(*transaction(100, 1), answer=frames.keepalive(100))
    rig.lot.away.add("park")
    rig.turn(2)
    rig.sink.reject(rig.sink.open[0], POISON)
    rig.run_until(10)
    assert (rig.stats.state, rig.stats.state_reason) == (State.HOLDING, "the lot: the lot is away")
    assert rig.confirmed == 0
    rig.lot.away.clear()
    rig.run_until(3)
    assert (rig.stats.state, rig.confirmed) == (State.STREAMING, 100)


def test_an_idle_loop_wakes_for_what_is_due() -> None:
    rig = Rig(*transaction(100, 1), answer=frames.keepalive(100))
    rig.turn(2)
    rig.sink.reject(rig.sink.open[0], BROKEN)
    rig.turn(3)
    [parked] = rig.lot.rows.values()
    assert parked.due_at is not None
    while len(rig.sink.published) < 2 and rig.clock.now < parked.due_at + 5:
        rig.turn()
    assert 0 <= rig.clock.now - parked.due_at < 0.1


def test_nothing_is_read_while_a_topic_closes() -> None:
    rig = Rig(*transaction(100, 1, 2), answer=frames.keepalive(100))
    other = frames.insert(b"3", b"other", b"k", b"Placed", b"{}")
    rig.stream.frames.extend([frames.begin(199), other, frames.commit(200)])
    rig.turn(2)
    rig.sink.reject(rig.sink.open[0], MISSING)
    rig.turn()
    rig.stream.frames.extend(transaction(300, 4))
    rig.turn()
    assert (len(rig.stream.frames), len(rig.sink.published)) == (4, 3)
    assert rig.run_until(10) is None  # not to listen is no silence


def test_a_drain_with_the_lot_away_does_not_turn_in_circles() -> None:
    rig = Rig(*transaction(100, 1), answer=frames.keepalive(100))
    rig.lot.away.add("park")
    rig.turn(2)
    rig.sink.reject(rig.sink.open[0], POISON)
    rig.turn()
    rig.bell.wait_count = 0
    assert rig.session.part(10) == 1
    assert 100 <= rig.bell.wait_count <= 220
    assert rig.confirmed == 0


def test_a_drain_takes_nothing_more_out_of_the_lot() -> None:
    rig = Rig(*transaction(100, 1), answer=frames.keepalive(100))
    rig.turn(2)
    rig.sink.reject(rig.sink.open[0], BROKEN)
    rig.turn(3)
    rig.clock.now += 4
    published = len(rig.sink.published)
    rig.session.part(10)
    assert len(rig.sink.published) == published
    assert rig.confirmed == 100


def test_a_full_lot_does_not_make_the_relay_publish_everything_again() -> None:
    """The line is released for a broker that is away: for want of room it would be, every minute."""
    rig = Rig(records=10, eager=True)
    rig.lot.limit_records = 0
    for number in range(1, 200):
        rig.stream.frames.extend(transaction(100 * number, number))
    rig.sink.verdict = lambda record: BROKEN if int(dict(record.headers)["id"] or 0) % 10 == 0 else None
    assert rig.run_until(200) is None
    assert (rig.stats.state, rig.stats.state_reason) == (State.HOLDING, "the lot: the lot is at its limit")
    rig.lot.limit_records = 1000
    rig.run_until(10)
    assert rig.confirmed == 19900


def failed_rig() -> Rig:
    """One record that failed once and will be due again."""
    rig = Rig(*transaction(100, 1), answer=frames.keepalive(100))
    rig.turn(2)
    rig.sink.reject(rig.sink.open[0], BROKEN)
    rig.turn(3)
    return rig


def run_until_due(rig: Rig) -> None:
    [parked] = rig.lot.rows.values()
    while rig.clock.now < (parked.due_at or 0.0) + 1:
        rig.turn()


def test_parting_counts_what_was_published_from_the_lot_and_not_written_down() -> None:
    """It will be published again: that is no clean stop."""
    rig = failed_rig()
    rig.lot.away.add("mark")
    rig.sink.eager = True
    run_until_due(rig)
    assert len(rig.sink.published) == 2
    assert rig.session.part(10) == 1


def test_a_claim_that_is_answered_during_a_stop_is_given_back() -> None:
    rig = failed_rig()
    rig.jobs.eager = False
    run_until_due(rig)
    assert len(rig.jobs) > 0  # the claim is on its way
    rig.stream.frames.extend(transaction(200, 2))
    rig.turn()
    rig.jobs.eager = True
    rig.jobs.run()
    rig.session.part(10)  # there is something to wait for
    [parked] = rig.lot.rows.values()
    assert (len(rig.sink.published), parked.is_claimed, parked.attempts) == (2, False, 0)
