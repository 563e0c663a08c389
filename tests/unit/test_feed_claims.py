"""Claims, whatever becomes of the lot and of the session: none is lost, none is asked for without end."""

from __future__ import annotations

import pytest

from cdc_relay.dispatch import strict_keys
from cdc_relay.parking.entry import Status
from tests.unit.dispatch_rig import BROKEN, MISSING, Rig
from tests.unit.feed_rig import parked_rig, wait_for_claim

# --- the lot away


def test_claims_are_asked_for_again_when_the_lot_is_back() -> None:
    rig, committed = parked_rig()
    rig.lot.away.add("*")
    rig.run(10)
    assert rig.dispatch.trouble == "the lot is away"
    rig.lot.away.clear()
    rig.sink.eager = True
    rig.run(3)
    assert (rig.dispatch.trouble, rig.row(committed).status) == ("", Status.PUBLISHED)


def test_a_claim_whose_answer_was_lost_is_not_lost() -> None:
    rig, committed = parked_rig()
    rig.lot.lost.add("claim_due")
    rig.sink.eager = True
    rig.run(5)
    row = rig.row(committed)
    assert (row.status, row.attempts) == (Status.PUBLISHED, 1)


def test_a_published_claim_that_could_not_be_written_down_is_written_later() -> None:
    rig, committed = parked_rig()
    wait_for_claim(rig)
    rig.lot.away.add("mark")
    rig.accept()
    rig.run(5)
    assert not rig.dispatch.is_idle
    rig.lot.away.clear()
    rig.run(2)
    assert (rig.row(committed).status, len(rig.sink.accepted)) == (Status.PUBLISHED, 1)


def test_the_lot_is_not_asked_without_end_for_what_it_does_not_give() -> None:
    """A due retry of a closed topic: due by its time, and yet not to be had."""
    rig, _ = parked_rig()
    rig.sink.sick_topics["calm"] = MISSING
    rig.write(("calm", "x"))
    rig.turn()
    rig.reject(rig.out()[0], MISSING)
    rig.run(5)
    rig.lot.calls.clear()
    rig.run(20, step=0.005)
    assert rig.lot.calls.count("claim_due") < 60


def test_an_idle_lot_is_left_alone() -> None:
    rig = Rig()
    rig.run(1)
    rig.lot.calls.clear()
    rig.run(60)
    assert len(rig.lot.calls) <= 8


# --- sessions


def test_what_the_lot_has_is_not_published_from_the_stream_again() -> None:
    rig, committed = parked_rig()
    rig.restart(is_heard=False)
    rig.sink.published.clear()
    rig.run(0.5)
    assert rig.sink.published == []
    assert rig.intake.ledger.safe_lsn == 100
    assert rig.row(committed).status is Status.RETRYING


def test_nothing_of_the_lot_passes_what_the_slot_delivers_again() -> None:
    """B went into the lot when its topic closed, A was still out when the session ended."""
    rig = Rig()
    rig.write(("strict", "k"), ("strict", "l"), ("other", "m"))
    rig.write(("strict", "k"))
    rig.turn()
    rig.reject(rig.out()[1], MISSING)
    rig.turn(2)
    assert len(rig.lot.rows) >= 2
    rig.restart(is_heard=False)
    rig.sink.eager = True
    for _ in range(100):  # the slot takes its time
        rig.turn(reads=0)
        rig.clock.now += 0.05
    rig.run(10)
    assert rig.lot.live() == []
    accepted = [slip.position for slip in rig.sink.accepted if slip.position in ((99, 0), (199, 0))]
    assert list(dict.fromkeys(accepted)) == [(99, 0), (199, 0)]


def test_what_overflowed_does_not_pass_what_is_on_its_way_into_the_lot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict_keys, "_LANE_LIMIT", 1)
    rig = Rig()
    rig.write(*[("strict", "k")] * 3, ("calm", "x"))
    rig.run(12)  # a survey has seen the third, which is in the lot
    rig.jobs.eager = False
    rig.reject(rig.out("calm")[0], BROKEN)  # the helper is busy with this one
    rig.reject(rig.out("strict")[0], BROKEN)
    rig.turn(2)
    rig.jobs.eager = True
    rig.jobs.run()
    rig.sink.eager = True
    rig.run(20)
    assert [slip.ordinal for slip in rig.sink.accepted if slip.topic == "strict"] == [0, 1, 2]


def test_claims_of_a_session_that_ended_are_made_again() -> None:
    rig, committed = parked_rig()
    wait_for_claim(rig)
    rig.restart()
    assert not rig.row(committed).is_claimed
    rig.sink.eager = True
    rig.run(2)
    assert (rig.row(committed).status, rig.row(committed).attempts) == (Status.PUBLISHED, 1)


# --- for as long as it takes


def test_a_claim_is_renewed_for_as_long_as_its_record_is_out() -> None:
    """For the tools a claim of a minute ago is a dead one: they would let an operator cancel what is on its way."""
    rig, committed = parked_rig()
    wait_for_claim(rig)
    rig.sink.away = "no broker"
    for _ in range(20):
        rig.run(30, step=0.2)
        assert rig.clock.now - rig.row(committed).claimed_at < 60
