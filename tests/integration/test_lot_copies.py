"""Copies of dead records for the dead letter topic: each once, with the reason."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cdc_relay.model import KeptColumn
from cdc_relay.parking.entry import Entry, Outcome, Purpose, Reason, Status
from cdc_relay.parking.postgres_lot import PostgresLot
from tests.fixtures.database import Database
from tests.integration.lot_entries import dead
from tests.integration.lots import FAILURE, Ground, due, lsns, make_entry, make_ticket, mark_all

pytestmark = pytest.mark.core


@pytest.fixture
def ground(database: Database) -> Iterator[Ground]:
    ground = Ground(database)
    yield ground
    ground.close()


@pytest.fixture
def lot(ground: Ground) -> PostgresLot:
    return ground.open()


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
    columns = [KeptColumn("id", 20, b"1")]
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
