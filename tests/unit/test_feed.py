"""From the lot back to the sink: retries, schedules and copies."""

from __future__ import annotations

import pytest

from cdc_relay.delivery.failures import judge
from cdc_relay.parking.entry import Purpose, Status
from tests.unit.dispatch_rig import BROKEN, MISSING, POISON, UNREACHABLE, Rig
from tests.unit.feed_rig import parked_rig, wait_for_claim

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
