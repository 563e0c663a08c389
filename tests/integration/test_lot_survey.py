"""What the lot looks like at a moment: counts, heads, topics, and what is due next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cdc_relay.parking.entry import Outcome, Reason, Status, Survey
from cdc_relay.parking.postgres_lot import PostgresLot
from tests.fixtures.database import Database
from tests.integration.lots import FAILURE, HOLDING, STRICT, TOPIC, Ground, due, make_entry, mark_all

pytestmark = pytest.mark.core


@pytest.fixture
def ground(database: Database) -> Iterator[Ground]:
    ground = Ground(database)
    yield ground
    ground.close()


@pytest.fixture
def lot(ground: Ground) -> PostgresLot:
    return ground.open()


def test_an_empty_lot(lot: PostgresLot) -> None:
    assert lot.survey() == Survey()


def test_counts_and_sizes_are_of_what_lives(ground: Ground, lot: PostgresLot) -> None:
    lot.park([make_entry(1, value=b"x" * 99), make_entry(2), make_entry(3, status=Status.DEAD)])
    ground.set("status = 'published'", "commit_lsn = '0/2'")
    ground.set("parked_at = now() - interval '1 hour'", "commit_lsn = '0/1'")
    survey = lot.survey()
    assert survey.counts == {Status.RETRYING: 1, Status.DEAD: 1}
    assert (survey.live_count, survey.live_bytes) == (2, 102)
    assert survey.oldest_seconds == pytest.approx(3600, abs=60)


def test_heads_are_the_oldest_that_hold_their_key(lot: PostgresLot) -> None:
    lot.park(
        [
            make_entry(1, b"a", policy=STRICT, status=Status.DEAD),
            make_entry(2, b"a", policy=STRICT, status=Status.BEHIND, reason=Reason.BEHIND),
            make_entry(3, b"b", policy=HOLDING, status=Status.DEAD),
            make_entry(4, b"b", policy=HOLDING, status=Status.BEHIND, reason=Reason.BEHIND),
            make_entry(5, b"b", policy=STRICT, topic="other"),
            make_entry(6, b"relaxed"),
            make_entry(
                7, b"s", policy=STRICT, status=Status.SCHEDULED, reason=Reason.SCHEDULE, scheduled_at="2999-01-01"
            ),
        ]
    )
    expected = {(TOPIC, b"a"): Status.BEHIND, (TOPIC, b"b"): Status.DEAD, ("other", b"b"): Status.RETRYING}
    assert lot.survey().heads == expected


def test_a_head_that_waits_for_its_topic_is_ready_once_the_topic_is(lot: PostgresLot) -> None:
    lot.park([make_entry(1, policy=STRICT, reason=Reason.TOPIC_CLOSED)])
    assert lot.survey().heads == {(TOPIC, b"k"): Status.BEHIND}


def test_waiting_topics_are_those_with_records_that_wait_for_them(lot: PostgresLot) -> None:
    entries = [make_entry(n, topic=topic, reason=Reason.TOPIC_CLOSED) for n, topic in enumerate("abacb", 1)]
    lot.park([*entries, make_entry(9, topic="d")])
    assert lot.survey().waiting_topics == {"a", "b", "c"}
    lot.claim_topic("a", limit=9)
    assert "a" in lot.survey().waiting_topics  # out, not over


@pytest.mark.parametrize(("offset", "expected"), [(-60.0, 0.0), (600.0, 600.0)])
def test_due_is_the_next_retry(lot: PostgresLot, offset: float, expected: float) -> None:
    lot.park([make_entry(1, retry_seconds=offset), make_entry(2, retry_seconds=9_000)])
    assert lot.survey().due_seconds == pytest.approx(expected, abs=60)


def test_due_is_the_next_schedule(lot: PostgresLot) -> None:
    lot.park([make_entry(1, status=Status.SCHEDULED, reason=Reason.SCHEDULE, scheduled_at="2020-01-01")])
    assert lot.survey().due_seconds == 0


def test_nothing_is_due_by_time_that_waits_for_something_else(lot: PostgresLot) -> None:
    lot.park([make_entry(1, reason=Reason.TOPIC_CLOSED), make_entry(2, status=Status.DEAD)])
    lot.park([make_entry(3, policy=HOLDING, status=Status.DEAD), make_entry(4, policy=HOLDING)])
    assert lot.survey().due_seconds is None


def test_what_is_claimed_is_not_due(lot: PostgresLot) -> None:
    lot.park([make_entry(1)])
    due(lot)
    assert lot.survey().due_seconds is None


def test_a_copy_is_due_where_it_is_configured(ground: Ground) -> None:
    lot = ground.open(dead_letter_topic="dead")
    lot.park([make_entry(1, status=Status.DEAD, failure=FAILURE)])
    assert lot.survey().due_seconds == 0
    mark_all(lot, due(lot), Outcome.COPY_FAILED, retry_seconds=600)
    assert lot.survey().due_seconds == pytest.approx(600, abs=60)
