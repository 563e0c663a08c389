"""What comes out of the lot of a topic or of a key: in the order of the stream, up to the first that may not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cdc_relay.parking.postgres_lot import PostgresLot
from tests.fixtures.database import Database
from tests.integration.lot_entries import LATER, behind, dead, waiting
from tests.integration.lots import HOLDING, STRICT, TOPIC, Ground, lsns, make_entry, make_ticket

pytestmark = pytest.mark.core


@pytest.fixture
def ground(database: Database) -> Iterator[Ground]:
    ground = Ground(database)
    yield ground
    ground.close()


@pytest.fixture
def lot(ground: Ground) -> PostgresLot:
    return ground.open()


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
