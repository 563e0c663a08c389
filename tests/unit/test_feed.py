"""From the lot back to the sink: retries, schedules, copies, and what a claim's end means for its row."""

from __future__ import annotations

import pytest

from cdc_relay.delivery.failures import judge
from cdc_relay.dispatch import publisher as publisher_module
from cdc_relay.parking.entry import Claim, Purpose, Status
from tests.unit.dispatch_rig import BROKEN, MISSING, POISON, UNREACHABLE, Committed, Rig


def parked_rig(topic: str = "calm") -> tuple[Rig, Committed]:
    """One record that failed once, due in a second."""
    rig = Rig()
    committed = rig.write((topic, "k"))
    rig.turn()
    rig.reject(rig.out()[0], BROKEN)
    rig.turn(2)
    return rig, committed


def wait_for_claim(rig: Rig) -> Claim:
    for _ in range(400):
        rig.turn()
        rig.clock.now += 0.05
        if rig.out():
            break
    [claim] = rig.out()
    assert isinstance(claim, Claim)
    return claim


# --- retries


def test_a_retry_goes_out_when_it_is_due_and_not_before() -> None:
    rig, committed = parked_rig()
    due_at = rig.row(committed).due_at
    assert due_at is not None
    rig.run(0.9)
    assert rig.out() == []
    wait_for_claim(rig)
    assert rig.clock.now - due_at < 0.15


def test_a_published_retry_is_written_down_and_counted() -> None:
    rig, committed = parked_rig()
    wait_for_claim(rig)
    rig.accept()
    rig.turn()
    assert rig.row(committed).status is Status.PUBLISHED
    assert (rig.stats.republished_count, rig.intake.window.record_count, rig.dispatch.is_idle) == (1, 0, True)


def test_each_failure_of_a_retry_doubles_the_wait_and_the_last_one_is_death() -> None:
    rig, committed = parked_rig()
    row = rig.row(committed)
    assert wait_for_claim(rig).attempts == 1
    rig.reject(rig.out()[0], BROKEN)
    rig.turn()
    assert row.status is Status.RETRYING
    assert row.due_at is not None
    assert row.due_at - rig.clock.now == pytest.approx(2.0, abs=0.01)
    assert wait_for_claim(rig).attempts == 2
    rig.reject(rig.out()[0], BROKEN)
    rig.turn()
    assert (row.status, rig.stats.dead_count) == (Status.DEAD, 1)


def test_the_first_try_of_a_scheduled_record_is_no_retry() -> None:
    rig = Rig()
    committed = rig.write(("calm", "k"), due_in=0.5)
    rig.turn(2)
    for _ in range(3):
        rig.reject(wait_for_claim(rig), BROKEN)
        rig.turn()
    row = rig.row(committed)
    assert (row.status, row.attempts) == (Status.DEAD, 2)


def test_a_retry_that_fails_for_good_is_dead_at_once() -> None:
    rig, committed = parked_rig()
    wait_for_claim(rig)
    rig.reject(rig.out()[0], POISON)
    rig.turn()
    assert rig.row(committed).status is Status.DEAD


def test_an_outage_of_the_cluster_is_no_attempt() -> None:
    rig, committed = parked_rig()
    for _ in range(20):
        rig.reject(wait_for_claim(rig), UNREACHABLE)
    rig.accept(wait_for_claim(rig))
    rig.turn()
    row = rig.row(committed)
    assert (row.status, row.attempts) == (Status.PUBLISHED, 1)


def test_a_claim_whose_topic_turns_out_closed_gets_its_attempt_back() -> None:
    rig, committed = parked_rig()
    rig.sink.sick_topics["calm"] = MISSING
    rig.reject(wait_for_claim(rig), MISSING)
    rig.turn(2)
    row = rig.row(committed)
    assert (row.status, row.attempts, row.is_claimed) == (Status.RETRYING, 0, False)
    assert rig.intake.window.record_count == 0


def test_a_retry_of_a_closed_topic_waits_for_it() -> None:
    rig, committed = parked_rig()
    rig.sink.sick_topics["calm"] = MISSING
    rig.write(("calm", "x"))
    rig.turn()
    rig.reject(rig.out()[0], MISSING)
    handed_out = len(rig.sink.published)
    rig.run(20)
    assert len(rig.sink.published) == handed_out
    rig.sink.sick_topics.clear()
    rig.sink.eager = True
    rig.run(40)
    assert rig.row(committed).status is Status.PUBLISHED


def test_a_batch_s_verdict_on_claims_parks_only_the_culprit_again() -> None:
    rig = Rig()
    committed = rig.write(("calm", "a"), ("calm", "b"))
    rig.turn()
    for slip in rig.out():
        rig.sink.reject(slip, BROKEN)
    rig.run(1.5)
    for slip in rig.out():
        rig.sink.reject(slip, judge("INVALID_RECORD", "one has no key"))
    rig.turn()
    culprit, innocent = rig.out()
    rig.sink.reject(culprit, judge("INVALID_RECORD", "no key", was_alone=True))
    rig.accept(innocent)
    rig.turn()
    assert [rig.row(committed, ordinal).status for ordinal in (0, 1)] == [Status.DEAD, Status.PUBLISHED]


def test_an_operator_s_retry_goes_out_within_a_second() -> None:
    rig = Rig()
    committed = rig.write(("calm", "k"))
    rig.turn()
    rig.reject(rig.out()[0], POISON)
    rig.sink.eager = True
    rig.run(5)
    rig.lot.retry(rig.row(committed))
    rig.run(0.5)
    assert rig.row(committed).status is Status.PUBLISHED


def test_a_row_without_a_route_is_routed_again_when_it_is_retried() -> None:
    rig = Rig(eager_sink=True)
    committed = rig.write(("nowhere", "k"))
    rig.run(1)
    rig.lot.retry(rig.row(committed))
    rig.run(1)
    assert rig.row(committed).status is Status.DEAD  # still nowhere
    rig.repaired = "calm"
    rig.lot.retry(rig.row(committed))
    rig.run(1)
    row = rig.row(committed)
    assert row.record is not None
    assert (row.status, row.record.topic) == (Status.PUBLISHED, "calm")


def test_a_retry_that_nobody_answers_does_not_keep_the_others_waiting() -> None:
    rig, _ = parked_rig()
    wait_for_claim(rig)
    rig.write(("other", "k"), due_in=3.0)
    rig.run(6)
    assert rig.topics_out() == ["calm", "other"]


# --- schedules


def test_a_scheduled_record_goes_out_when_it_is_due() -> None:
    rig = Rig()
    rig.write(("calm", "k"), due_in=5.0)
    due_at = rig.clock.now + 5.0
    rig.run(4.9)
    assert rig.out() == []
    assert rig.intake.ledger.safe_lsn == 100
    assert rig.dispatch.due_at is not None
    assert abs(rig.dispatch.due_at - due_at) < 0.05
    rig.run(0.2, step=0.01)
    assert len(rig.out()) == 1


def test_a_scheduled_record_survives_a_restart() -> None:
    rig = Rig(eager_sink=True)
    committed = rig.write(("strict", "k"), due_in=5.0)
    rig.run(1)
    rig.restart(died=True)
    rig.run(5)
    assert rig.row(committed).status is Status.PUBLISHED


def test_a_cancelled_record_never_goes_out() -> None:
    rig = Rig(eager_sink=True)
    committed = rig.write(("calm", "k"), due_in=5.0)
    rig.run(1)
    rig.lot.drop(rig.row(committed))
    rig.run(30)
    assert rig.sink.published == []


def test_a_scheduled_record_never_holds_its_key() -> None:
    rig = Rig(eager_sink=True)
    rig.write(("strict", "k"), due_in=5.0)
    rig.write(("strict", "k"))
    rig.run(1)
    assert rig.numbers() == [2]
    rig.run(6)
    assert rig.numbers() == [2, 1]


def test_a_time_beyond_what_a_calendar_knows_is_no_trouble() -> None:
    rig = Rig()
    rig.time_text = lambda seconds: "294276-01-01 00:00:00+00"  # type: ignore[method-assign]  # for this test
    rig.write(("calm", "k"), due_in=5.0)
    rig.lot.park = lambda entries: None  # type: ignore[method-assign]  # this fake has a calendar, too
    rig.turn(3)
    assert rig.intake.ledger.safe_lsn == 100


# --- copies


def test_a_dead_record_is_copied_to_the_dead_letter_topic() -> None:
    rig = Rig()
    committed = rig.write(("calm", "k"))
    rig.turn()
    rig.reject(rig.out()[0], POISON)
    claim = wait_for_claim(rig)
    assert (claim.purpose, claim.topic) == (Purpose.COPY, "dlq")
    rig.accept()
    rig.turn()
    row = rig.row(committed)
    assert (row.status, row.is_copied) == (Status.DEAD, True)


def test_a_copy_that_fails_is_tried_again_and_changes_nothing_of_the_record() -> None:
    rig = Rig()
    committed = rig.write(("calm", "k"))
    rig.turn()
    rig.reject(rig.out()[0], POISON)
    rig.reject(wait_for_claim(rig), MISSING)
    rig.turn()
    row = rig.row(committed)
    assert (row.status, row.is_copied, row.attempts) == (Status.DEAD, False, 0)
    rig.sink.eager = True
    rig.run(32)
    assert row.is_copied
    assert rig.outages.closed == {}


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
    monkeypatch.setattr(publisher_module, "_LANE_LIMIT", 1)
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


# --- keys


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


def test_a_claim_is_renewed_for_as_long_as_its_record_is_out() -> None:
    """For the tools a claim of a minute ago is a dead one: they would let an operator cancel what is on its way."""
    rig, committed = parked_rig()
    wait_for_claim(rig)
    rig.sink.away = "no broker"
    for _ in range(20):
        rig.run(30, step=0.2)
        assert rig.clock.now - rig.row(committed).claimed_at < 60


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
