"""What comes out of the lot, when and in which order; nothing twice, nothing before its turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cdc_relay.errors import AwayError
from cdc_relay.model import Policy, Retry
from cdc_relay.parking.entry import Entry, Outcome, Purpose, Reason, Status
from cdc_relay.parking.postgres_lot import PostgresLot
from tests.fixtures.database import Database
from tests.integration.lots import (
    FAILURE,
    HOLDING,
    RELAXED,
    STRICT,
    TOPIC,
    Ground,
    due,
    lsns,
    make_entry,
    make_ticket,
    mark_all,
)

pytestmark = pytest.mark.core

LATER = 600.0


@pytest.fixture
def ground(database: Database) -> Iterator[Ground]:
    ground = Ground(database)
    yield ground
    ground.close()


@pytest.fixture
def lot(ground: Ground) -> PostgresLot:
    return ground.open()


def behind(lsn: int, key: bytes = b"k", *, policy: Policy = STRICT) -> Entry:
    return make_entry(lsn, key, policy=policy, status=Status.BEHIND, reason=Reason.BEHIND)


def waiting(lsn: int, key: bytes = b"k", *, policy: Policy = RELAXED, topic: str = TOPIC) -> Entry:
    return make_entry(lsn, key, policy=policy, topic=topic, reason=Reason.TOPIC_CLOSED)


def dead(lsn: int, *, policy: Policy = STRICT) -> Entry:
    return make_entry(lsn, policy=policy, status=Status.DEAD, failure=FAILURE)


def scheduled(lsn: int, at: str, *, policy: Policy = STRICT) -> Entry:
    return make_entry(lsn, policy=policy, status=Status.SCHEDULED, reason=Reason.SCHEDULE, scheduled_at=at)


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
    lot.park([Entry(ticket, Status.RETRYING, Reason.FAILURE, columns=[("id", 20, b"1")], retry_seconds=0)])
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


# --- a topic


def test_a_topic_s_records_come_in_the_order_of_the_stream(lot: PostgresLot) -> None:
    lot.park([waiting(3), waiting(1), waiting(2, topic="other"), make_entry(4)])
    lot.park([waiting(2)._replace(ticket=make_ticket(2, ordinal=1))])
    assert lsns(lot.claim_topic(TOPIC, limit=9)) == [1, 2, 3]
    assert lot.claim_topic(TOPIC, limit=9) == []


def test_positions_are_ordered_as_numbers(lot: PostgresLot) -> None:
    positions = [9, 10, 16, 255, 256, 2**32 - 1, 2**32, 2**36]  # their texts sort otherwise
    lot.park([waiting(lsn) for lsn in reversed(positions)])
    assert lsns(lot.claim_topic(TOPIC, limit=99)) == positions


def test_a_topic_s_limit_is_kept(lot: PostgresLot) -> None:
    lot.park([waiting(lsn) for lsn in range(1, 6)])
    assert lsns(lot.claim_topic(TOPIC, limit=3)) == [1, 2, 3]
    assert lsns(lot.claim_topic(TOPIC, limit=3)) == [4, 5]


def test_a_topic_gives_the_records_of_a_strict_key_in_order(lot: PostgresLot) -> None:
    lot.park([waiting(1, policy=STRICT), waiting(2, policy=STRICT), waiting(3, b"other", policy=STRICT)])
    assert lsns(lot.claim_topic(TOPIC, limit=9)) == [1, 2, 3]


def test_a_topic_gives_nothing_of_a_strict_key_that_is_out(lot: PostgresLot) -> None:
    lot.park([waiting(1, policy=STRICT), waiting(2, policy=STRICT), waiting(3, b"other", policy=STRICT)])
    assert lsns(lot.claim_topic(TOPIC, limit=1)) == [1]
    assert lsns(lot.claim_topic(TOPIC, limit=9)) == [3]


def test_a_topic_gives_nothing_of_a_strict_key_that_waits_for_a_failed_one(lot: PostgresLot) -> None:
    lot.park([make_entry(1, policy=STRICT), waiting(2, policy=STRICT), waiting(3, b"other", policy=STRICT)])
    assert lsns(lot.claim_topic(TOPIC, limit=9)) == [3]


def test_a_key_that_is_held_for_long_does_not_hide_the_others(lot: PostgresLot) -> None:
    lot.park([dead(1, policy=HOLDING), *(waiting(lsn, policy=HOLDING) for lsn in range(2, 2_500))])
    lot.park([waiting(9_999, b"other", policy=HOLDING)])
    assert lsns(lot.claim_topic(TOPIC, limit=10)) == [9_999]


# --- a key


def test_a_key_s_records_come_in_order_up_to_the_first_that_may_not(lot: PostgresLot) -> None:
    lot.park(
        [
            make_entry(1, policy=STRICT),
            behind(2),
            behind(4),
            make_entry(5, policy=STRICT, retry_seconds=LATER),
            behind(6),
        ]
    )
    lot.park([behind(3)])
    assert lsns(lot.claim_key(TOPIC, b"k", limit=9)) == [1, 2, 3, 4]


def test_a_key_s_limit_is_kept(lot: PostgresLot) -> None:
    lot.park([behind(lsn) for lsn in range(1, 5)])
    assert lsns(lot.claim_key(TOPIC, b"k", limit=2)) == [1, 2]
    assert lot.claim_key(TOPIC, b"k", limit=2) == []  # the first two are out


def test_a_dead_record_stops_its_key_only_if_it_is_to_hold(lot: PostgresLot) -> None:
    lot.park([dead(1), behind(2), dead(3), behind(4)])
    assert lsns(lot.claim_key(TOPIC, b"k", limit=9)) == [2, 4]
    lot.park([dead(11, policy=HOLDING)._replace(ticket=make_ticket(11, policy=HOLDING)), behind(12, policy=HOLDING)])
    assert lot.claim_key(TOPIC, b"k", limit=9) == []


def test_a_record_that_waited_for_its_topic_goes_with_its_key(lot: PostgresLot) -> None:
    """Keys are asked for only while their topic is open: nobody else would wake it once its head is over."""
    lot.park([make_entry(1, policy=STRICT), waiting(2, policy=STRICT), behind(3)])
    assert lsns(lot.claim_key(TOPIC, b"k", limit=9)) == [1, 2, 3]


def test_a_locked_record_stops_its_key(ground: Ground, lot: PostgresLot) -> None:
    lot.park([behind(1), behind(2)])
    with ground.database.connect(autocommit=False) as operator:
        operator.execute("SELECT FROM cdc_relay.parked_records WHERE commit_lsn = '0/1' FOR UPDATE")
        assert lot.claim_key(TOPIC, b"k", limit=9) == []
    assert lsns(lot.claim_key(TOPIC, b"k", limit=9)) == [1, 2]


# --- copies


def test_dead_records_are_copied_only_where_a_topic_is_configured(ground: Ground, lot: PostgresLot) -> None:
    lot.park([dead(1)])
    assert due(lot) == []
    assert lsns(due(ground.open(dead_letter_topic="dead"), closed=("dead",))) == []
    assert lsns(due(ground.open(dead_letter_topic="dead"))) == [1]


def test_a_copy_has_the_record_and_why_it_is_dead(ground: Ground) -> None:
    lot = ground.open(dead_letter_topic="dead")
    lot.park([make_entry(0x1_0000_00AB, status=Status.DEAD, failure=FAILURE, headers=[("h", b"1")])])
    [claim] = due(lot)
    assert (claim.purpose, claim.topic, claim.attempts, claim.policy.strict) == (Purpose.COPY, "dead", 0, False)
    assert claim.record is not None
    assert (claim.record.topic, claim.record.key, claim.record.value) == ("dead", b"k", b"v")
    assert claim.record.headers == [
        ("h", b"1"),
        ("cdc-relay-error-class", b"transient"),
        ("cdc-relay-error-code", b"TOO_LARGE"),
        ("cdc-relay-error", b"the broker said no"),
        ("cdc-relay-attempts", b"0"),
        ("cdc-relay-original-topic", b"orders"),
        ("cdc-relay-lsn", b"1/AB"),
    ]


@pytest.mark.parametrize("value", [None, b"known"])
def test_the_copy_of_an_unroutable_row_has_its_value_or_its_columns(ground: Ground, value: bytes | None) -> None:
    lot = ground.open(dead_letter_topic="dead")
    ticket = make_ticket(1)._replace(topic="")
    columns: list[tuple[str, int, bytes | None]] = [("id", 20, b"1")]
    lot.park([Entry(ticket, Status.DEAD, Reason.FAILURE, failure=FAILURE, columns=columns, value=value)])
    [claim] = due(lot)
    assert claim.record is not None
    assert claim.record.value == (value or b'[{"name":"id","type":20,"value":"1"}]')
    assert dict(claim.record.headers)["cdc-relay-original-topic"] is None


def test_a_copied_record_is_not_copied_again(ground: Ground) -> None:
    lot = ground.open(dead_letter_topic="dead")
    lot.park([dead(1)])
    mark_all(lot, due(lot), Outcome.COPIED)
    assert due(lot) == []
    assert ground.rows("status, copied_at IS NOT NULL, attempts") == [("dead", True, 0)]


def test_a_failed_copy_is_tried_again_later(ground: Ground) -> None:
    lot = ground.open(dead_letter_topic="dead")
    lot.park([dead(1)])
    mark_all(lot, due(lot), Outcome.COPY_FAILED, failure=FAILURE, retry_seconds=600)
    assert due(lot) == []
    ground.set("next_retry_at = now()")
    assert lsns(due(lot)) == [1]


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
