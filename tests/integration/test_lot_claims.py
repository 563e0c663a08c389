"""What comes out of the lot when it is due; nothing twice, nothing before its turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cdc_relay.errors import AwayError
from cdc_relay.model import KeptColumn, Policy, Retry
from cdc_relay.parking.entry import Entry, Outcome, Purpose, Reason, Status
from cdc_relay.parking.postgres_lot import PostgresLot
from tests.fixtures.database import Database
from tests.integration.lot_entries import LATER, behind, dead, scheduled, waiting
from tests.integration.lots import FAILURE, HOLDING, STRICT, TOPIC, Ground, due, lsns, make_entry, make_ticket, mark_all

pytestmark = pytest.mark.core


@pytest.fixture
def ground(database: Database) -> Iterator[Ground]:
    ground = Ground(database)
    yield ground
    ground.close()


@pytest.fixture
def lot(ground: Ground) -> PostgresLot:
    return ground.open()


# --- due


def test_only_what_is_due_is_claimed_and_the_longest_due_first(lot: PostgresLot) -> None:
    lot.park([make_entry(1, retry_seconds=LATER), make_entry(2), make_entry(3, retry_seconds=-60), waiting(4), dead(5)])
    assert lsns(due(lot)) == [3, 2]


def test_a_claim_says_what_it_was_and_counts(lot: PostgresLot) -> None:
    lot.park([make_entry(1, ordinal=2)])
    [claim] = due(lot)
    assert (claim.attempts, claim.max_attempts, claim.status, claim.reason) == (1, 3, Status.RETRYING, Reason.FAILURE)
    assert (claim.purpose, claim.topic, claim.size_bytes) == (Purpose.PUBLISH, TOPIC, 2)
    assert (claim.is_scheduled, claim.suspicion) == (False, 0)
    assert claim.identity == make_ticket(1, ordinal=2).identity


def test_the_policy_has_the_row_s_order_and_today_s_retries(ground: Ground) -> None:
    ground.open().park([make_entry(1, policy=HOLDING), make_entry(2, b"j", policy=Policy("forgotten", strict=True))])
    today = Policy("holding", retry=Retry(max_retries=42))
    [known, forgotten] = due(ground.open(policies={"holding": today}))
    assert known.policy == Policy("holding", strict=True, hold_dead=True, retry=today.retry)
    assert forgotten.policy == Policy("forgotten", strict=True)


def test_a_claimed_record_is_not_claimed_again(ground: Ground, lot: PostgresLot) -> None:
    lot.park([make_entry(1)])
    assert lsns(due(lot)) == [1]
    assert due(lot) == []
    assert due(ground.open()) == []


def test_a_limit_is_kept_and_the_rest_comes_next(lot: PostgresLot) -> None:
    lot.park([make_entry(lsn) for lsn in range(1, 6)])
    assert [lsns(due(lot, limit=2)) for _ in range(4)] == [[1, 2], [3, 4], [5], []]


def test_claims_are_bounded_by_bytes(lot: PostgresLot) -> None:
    lot.park([make_entry(lsn, value=b"x" * 3_000_000) for lsn in range(1, 6)])
    assert [len(due(lot)) for _ in range(3)] == [3, 2, 0]


def test_closed_topics_are_left(lot: PostgresLot) -> None:
    lot.park([make_entry(1), make_entry(2, topic="open"), scheduled(3, "2020-01-01")])
    assert lsns(due(lot, closed=(TOPIC, "another"))) == [2]
    assert lsns(due(lot)) == [3, 1]


def test_an_unroutable_row_is_due_whatever_is_closed(lot: PostgresLot) -> None:
    ticket = make_ticket(1)._replace(topic="")
    lot.park([Entry(ticket, Status.RETRYING, Reason.FAILURE, columns=[KeptColumn("id", 20, b"1")], retry_seconds=0)])
    assert lsns(due(lot, closed=(TOPIC,))) == [1]


def test_records_of_another_slot_are_not_ours(ground: Ground, lot: PostgresLot) -> None:
    ground.open(slot="other").park([make_entry(1)])
    assert due(lot) == []


def test_a_row_that_an_operator_has_locked_is_for_the_next_time(ground: Ground, lot: PostgresLot) -> None:
    lot.park([make_entry(1), make_entry(2)])
    with ground.database.connect(autocommit=False) as operator:
        operator.execute("SELECT FROM cdc_relay.parked_records WHERE commit_lsn = '0/1' FOR UPDATE")
        assert lsns(due(lot)) == [2]
    assert lsns(due(lot)) == [1]


# --- schedules


def test_a_scheduled_record_is_claimed_when_its_time_has_come(lot: PostgresLot) -> None:
    lot.park([scheduled(1, "2999-01-01 00:00:00+00"), scheduled(2, "2020-01-01 00:00:00+00")])
    [claim] = due(lot)
    assert (claim.commit_lsn, claim.is_scheduled, claim.status) == (2, True, Status.SCHEDULED)


def test_a_cancelled_schedule_never_comes(ground: Ground, lot: PostgresLot) -> None:
    lot.park([scheduled(1, "2020-01-01")])
    ground.set("status = 'cancelled'")
    assert due(lot) == []


def test_a_scheduled_record_neither_holds_its_key_nor_is_held(lot: PostgresLot) -> None:
    lot.park(
        [scheduled(1, "2999-01-01"), make_entry(2, policy=STRICT, retry_seconds=LATER), scheduled(3, "2020-01-01")]
    )
    assert lsns(due(lot)) == [3]
    assert lot.claim_key(TOPIC, b"k", limit=9) == []  # 2 is the head, and not due
    lot.park([scheduled(4, "2020-01-01")])
    mark_all(lot, due(lot), Outcome.FAILED, failure=FAILURE, retry_seconds=-1)
    assert lsns(due(lot)) == [4]  # as a retry too


# --- strict keys


@pytest.mark.parametrize(
    "first", [make_entry(1, policy=STRICT, retry_seconds=LATER), behind(1), dead(1, policy=HOLDING)]
)
def test_a_due_strict_record_waits_for_an_earlier_live_one(lot: PostgresLot, first: Entry) -> None:
    lot.park([first, make_entry(2, policy=first.ticket.policy), make_entry(3, b"other", policy=STRICT)])
    assert lsns(due(lot)) == [3]


@pytest.mark.parametrize("status", ["published", "discarded", "cancelled", "dead"])
def test_what_is_over_holds_nobody(ground: Ground, lot: PostgresLot, status: str) -> None:
    lot.park([make_entry(1, policy=STRICT), make_entry(2, policy=STRICT)])
    ground.set(f"status = '{status}'", "commit_lsn = '0/1'")
    assert lsns(due(lot)) == [2]


def test_one_record_of_a_strict_key_at_a_time(lot: PostgresLot) -> None:
    lot.park([make_entry(1, policy=STRICT), make_entry(2, policy=STRICT)])
    claims = due(lot)
    assert lsns(claims) == [1]
    assert due(lot) == []  # the first is out, not over
    mark_all(lot, claims, Outcome.PUBLISHED)
    assert lsns(due(lot)) == [2]


def test_the_same_key_of_another_topic_does_not_wait(lot: PostgresLot) -> None:
    lot.park([make_entry(1, policy=STRICT, retry_seconds=LATER), make_entry(2, policy=STRICT, topic="other")])
    assert lsns(due(lot)) == [2]


def test_order_within_a_transaction_counts(lot: PostgresLot) -> None:
    lot.park([make_entry(1, ordinal=2, policy=STRICT), make_entry(1, ordinal=1, policy=STRICT)])
    assert [claim.ordinal for claim in due(lot)] == [1]


def test_a_key_longer_than_an_index_entry_keeps_its_order(lot: PostgresLot) -> None:
    long = bytes(range(256)) * 100
    lot.park([make_entry(1, long, policy=STRICT), behind(2, long), behind(3, long + b"x")])
    assert lsns(lot.claim_key(TOPIC, long, limit=9)) == [1, 2]


# --- compare and set


def test_two_claimers_share_and_never_get_the_same(ground: Ground, lot: PostgresLot) -> None:
    lot.park([make_entry(lsn) for lsn in range(1, 11)])
    other = ground.open()
    claims = [lsn for _ in range(3) for each in (lot, other) for lsn in lsns(due(each, limit=2))]
    assert claims == list(range(1, 11))


def test_a_claim_lost_on_the_way_is_released_by_the_next(ground: Ground, lot: PostgresLot) -> None:
    """Committed in Postgres, but the answer never came: without a release nobody would publish it."""
    lot.park([make_entry(1), make_entry(2)])
    assert lsns(due(lot, limit=1)) == [1]
    ground.set("claimed_at = now(), attempts = attempts + 1", "commit_lsn = '0/2'")
    ground.cut()
    with pytest.raises(AwayError):
        due(lot)
    [claim] = due(lot)
    assert (claim.commit_lsn, claim.attempts) == (2, 1)
    assert ground.rows("attempts, claimed_at IS NOT NULL") == [(1, True), (1, True)]  # the first is still out


# --- for as long as it takes


def test_a_claim_is_renewed_by_every_survey_until_it_is_marked(ground: Ground, lot: PostgresLot) -> None:
    """For the tools a claim of a minute ago is a dead one, but an outage may last longer."""
    lot.park([make_entry(1), make_entry(2)])
    [first, _] = due(lot)
    ground.set("claimed_at = '2020-01-01'")
    lot.survey()
    assert ground.rows("claimed_at > now() - interval '1 minute'") == [(True,), (True,)]
    mark_all(lot, [first], Outcome.RELEASED)
    lot.survey()
    assert ground.rows("claimed_at IS NULL") == [(True,), (False,)]


def test_a_claim_of_somebody_else_is_not_renewed(ground: Ground, lot: PostgresLot) -> None:
    lot.park([make_entry(1), make_entry(2)])
    assert lsns(due(lot, limit=1)) == [1]
    assert lsns(due(ground.open(), limit=1)) == [2]
    ground.set("claimed_at = '2020-01-01'")
    lot.survey()
    assert ground.rows("claimed_at > now() - interval '1 minute'") == [(True,), (False,)]


# --- rows that were changed by hand

UNREADABLE = ['[{"value": "x"}]', '{"a": 1}', '[{"name": "h"}]', '[{"name": "h", "base64": "abc"}]', '["h"]', "5"]


@pytest.mark.parametrize("headers", UNREADABLE)
def test_a_row_that_cannot_be_read_is_dead_and_the_others_come(ground: Ground, lot: PostgresLot, headers: str) -> None:
    lot.park([make_entry(1), make_entry(2)])
    ground.set(f"headers = '{headers}'", "commit_lsn = '0/1'")
    assert lsns(due(lot)) == [2]
    [row, _] = ground.rows("status, error_code, claimed_at, remedy IS NOT NULL")
    assert row == ("dead", "unreadable_row", None, True)
    assert due(lot) == []


def test_a_dead_row_that_cannot_be_read_is_not_copied_for_ever(ground: Ground) -> None:
    lot = ground.open(dead_letter_topic="dead")
    lot.park([dead(1), dead(2)])
    ground.set("headers = '5'", "commit_lsn = '0/1'")
    assert lsns(due(lot)) == [2]
    assert due(lot) == []


def test_a_row_of_a_key_or_a_topic_that_cannot_be_read_stops_neither(ground: Ground, lot: PostgresLot) -> None:
    lot.park([behind(1), behind(2), waiting(3, b"other"), waiting(4, b"other")])
    ground.set("headers = '5'", "commit_lsn IN ('0/1', '0/3')")
    assert lsns(lot.claim_key(TOPIC, b"k", limit=9)) == [2]
    assert lsns(lot.claim_topic(TOPIC, limit=9)) == [4]
