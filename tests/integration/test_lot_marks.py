"""What is written down after a try: only by the one who made it, and all of it at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cdc_relay.errors import AwayError
from cdc_relay.model import ErrorClass, Failure, KeptColumn, Record
from cdc_relay.parking.entry import Entry, Mark, Outcome, Reason, Status
from cdc_relay.parking.postgres_lot import PostgresLot
from tests.fixtures.database import Database
from tests.integration.lots import FAILURE, RELAXED, STRICT, TOPIC, Ground, due, lsns, make_entry, make_ticket, mark_all

pytestmark = pytest.mark.core

SECOND = Failure("OTHER", "another reason", "another remedy", ErrorClass.PERMANENT)


@pytest.fixture
def ground(database: Database) -> Iterator[Ground]:
    ground = Ground(database)
    yield ground
    ground.close()


@pytest.fixture
def lot(ground: Ground) -> PostgresLot:
    return ground.open()


def test_a_published_record_is_over(ground: Ground, lot: PostgresLot) -> None:
    lot.park([make_entry(1)])
    mark_all(lot, due(lot), Outcome.PUBLISHED)
    [row] = ground.rows("status, attempts, claimed_at, published_at IS NOT NULL, last_error, topic, value")
    assert row == ("published", 1, None, True, FAILURE.reason, TOPIC, b"v")
    assert due(lot) == []


def test_a_record_that_was_routed_again_is_kept_as_it_was_published(ground: Ground, lot: PostgresLot) -> None:
    ticket = make_ticket(1)._replace(topic="")
    columns = [KeptColumn("id", 20, b"1")]
    lot.park([Entry(ticket, Status.RETRYING, Reason.FAILURE, columns=columns, retry_seconds=-9), make_entry(2)])
    [again, plain] = due(lot)
    record = Record("found", b"key", b"\xff", [("h", None)], 0, 4, RELAXED)
    lot.mark([Mark(again, Outcome.PUBLISHED, record=record), Mark(plain, Outcome.PUBLISHED)])
    assert ground.rows("topic, key, value, headers") == [
        ("found", b"key", b"\xff", [{"name": "h", "value": None}]),
        (TOPIC, b"k", b"v", []),
    ]


def test_a_failed_record_is_due_again_and_counted(ground: Ground, lot: PostgresLot) -> None:
    lot.park([make_entry(1)])
    ground.set("first_failed_at = '2020-01-01', last_error_at = '2020-01-01'")
    mark_all(lot, due(lot), Outcome.FAILED, failure=SECOND, retry_seconds=60)
    [row] = ground.rows(
        "status, attempts, claimed_at, last_error, error_code, error_class, remedy, first_failed_at::date::text,"
        " last_error_at > now() - interval '1 hour', next_retry_at BETWEEN now() + '50 s' AND now() + '60 s'"
    )
    assert row == ("retrying", 1, None, *SECOND[1:2], "OTHER", "permanent", SECOND.remedy, "2020-01-01", True, True)


def test_a_failed_record_without_another_try_is_dead(ground: Ground, lot: PostgresLot) -> None:
    lot.park([make_entry(1)])
    mark_all(lot, due(lot), Outcome.FAILED, failure=SECOND)
    assert ground.rows("status, next_retry_at, error_code") == [("dead", None, "OTHER")]
    assert ground.database.execute("SELECT error_code FROM cdc_relay.dead_letters") == [("OTHER",)]


@pytest.mark.parametrize("retry_seconds", [None, 5.0])
def test_a_failure_is_the_reason_from_then_on(ground: Ground, lot: PostgresLot, retry_seconds: float | None) -> None:
    lot.park([make_entry(1, status=Status.BEHIND, reason=Reason.BEHIND, policy=STRICT)])
    claims = lot.claim_key(TOPIC, b"k", limit=1)
    mark_all(lot, claims, Outcome.FAILED, failure=SECOND, retry_seconds=retry_seconds)
    assert ground.rows("reason, first_failed_at IS NOT NULL") == [("failure", True)]


@pytest.mark.parametrize(("status", "reason"), [("retrying", "topic_closed"), ("scheduled", "schedule")])
def test_a_released_record_is_what_it_was(ground: Ground, lot: PostgresLot, status: str, reason: str) -> None:
    scheduled_at = "2020-01-01" if status == "scheduled" else None
    lot.park([make_entry(1, status=Status(status), reason=Reason(reason), scheduled_at=scheduled_at)])
    columns = "status, reason, attempts, claimed_at, next_retry_at, scheduled_at, last_error"
    before = ground.rows(columns)
    claims = lot.claim_topic(TOPIC, limit=9) or due(lot)
    assert len(claims) == 1
    mark_all(lot, claims, Outcome.RELEASED)
    assert ground.rows(columns) == before


def test_a_record_released_with_a_delay_is_due_after_it_and_not_counted(ground: Ground, lot: PostgresLot) -> None:
    lot.park([make_entry(1)])
    mark_all(lot, due(lot), Outcome.RELEASED, retry_seconds=600)
    later = "next_retry_at BETWEEN now() + '500 s' AND now() + '600 s'"
    assert ground.rows(f"status, reason, attempts, {later}") == [("retrying", "failure", 0, True)]
    assert due(lot) == []


def test_a_released_copy_was_no_attempt(ground: Ground) -> None:
    lot = ground.open(dead_letter_topic="dead")
    lot.park([make_entry(1, status=Status.DEAD, failure=FAILURE)])
    ground.set("attempts = 3")
    mark_all(lot, due(lot), Outcome.RELEASED)
    assert ground.rows("attempts, status, claimed_at, copied_at") == [(3, "dead", None, None)]
    assert lsns(due(lot)) == [1]


def test_a_new_death_is_copied_anew(ground: Ground) -> None:
    lot = ground.open(dead_letter_topic="dead")
    lot.park([make_entry(1)])
    ground.set("copied_at = now()")
    mark_all(lot, due(lot), Outcome.FAILED, failure=SECOND)
    assert [claim.topic for claim in due(lot)] == ["dead"]


@pytest.mark.parametrize("change", ["attempts = 0", "claimed_at = NULL", "slot = 'other'"])
def test_a_record_that_is_no_longer_ours_is_left_alone(ground: Ground, lot: PostgresLot, change: str) -> None:
    lot.park([make_entry(1), make_entry(2)])
    claims = due(lot)
    ground.set(change, "commit_lsn = '0/1'")
    mark_all(lot, claims, Outcome.PUBLISHED)
    assert ground.rows("status") == [("retrying",), ("published",)]


def test_a_mark_that_is_repeated_changes_nothing(ground: Ground, lot: PostgresLot) -> None:
    lot.park([make_entry(1)])
    claims = due(lot)
    mark_all(lot, claims, Outcome.RELEASED)
    mark_all(lot, claims, Outcome.RELEASED)
    assert ground.rows("attempts") == [(0,)]


def test_many_marks_of_all_kinds_go_together(ground: Ground, lot: PostgresLot) -> None:
    lot.park([make_entry(lsn) for lsn in range(1, 601)])
    claims = due(lot, limit=600)
    kinds = [Outcome.PUBLISHED, Outcome.FAILED, Outcome.RELEASED]
    lot.mark([Mark(claim, kinds[claim.commit_lsn % 3], failure=FAILURE) for claim in claims])
    counts = ground.database.execute("SELECT status, count(*) FROM cdc_relay.parked_records GROUP BY 1 ORDER BY 1")
    assert counts == [("dead", 200), ("published", 200), ("retrying", 200)]


def test_marks_that_cannot_be_written_are_away_and_can_be_repeated(ground: Ground, lot: PostgresLot) -> None:
    lot.park([make_entry(lsn) for lsn in range(1, 601)])
    claims = due(lot, limit=600)
    ground.cut()
    with pytest.raises(AwayError):
        mark_all(lot, claims, Outcome.PUBLISHED)
    assert {status for (status,) in ground.rows("status")} == {"retrying"}
    mark_all(lot, claims, Outcome.PUBLISHED)
    assert {status for (status,) in ground.rows("status")} == {"published"}


def test_no_marks_are_nothing(lot: PostgresLot) -> None:
    lot.mark([])
    lot.park([])


def test_the_first_try_of_a_record_that_was_not_parked_for_a_failure_is_no_retry(
    ground: Ground, lot: PostgresLot
) -> None:
    lot.park([make_entry(1)._replace(status=Status.RETRYING, reason=Reason.TOPIC_CLOSED, retry_seconds=None)])
    claims = lot.claim_topic(TOPIC, limit=1)
    assert [claim.attempts for claim in claims] == [1]
    mark_all(lot, claims, Outcome.FAILED, failure=SECOND, retry_seconds=60)
    assert ground.rows("attempts, reason") == [(0, "failure")]
