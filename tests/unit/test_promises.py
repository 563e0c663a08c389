"""Promises that no other unit test would see broken."""

from __future__ import annotations

from cdc_relay.delivery.intake import Intake
from cdc_relay.parking.entry import Status
from cdc_relay.routing.router import Outbox, Router
from tests.unit import frames
from tests.unit.dispatch_rig import POISON
from tests.unit.native_rig import Twins
from tests.unit.session_rig import SessionRig, row, transaction

OUTBOX = Outbox("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload")
TRANSACTION = (
    frames.begin(90),
    frames.relation(),
    frames.insert(b"e1", b"order", b"k1", b"Placed", b"{}"),
    frames.commit(100),
)


def make_intake(twins: Twins) -> Intake:
    return Intake(Router([OUTBOX]), twins.window(record_limit=10, byte_limit=1000), ceiling_lsn=1000)


def event_ids(intake: Intake) -> list[bytes | None]:
    """Of the records that the stream of TRANSACTION brings."""
    outcomes = [outcome for frame in TRANSACTION if (outcome := intake.take(frame)) is not None]
    return [ticket.event[0] for _, ticket in outcomes]


def test_what_an_earlier_line_brought_is_published_again_when_the_slot_brings_it_again(twins: Twins) -> None:
    """Promise 1: the slot alone knows where we are."""
    assert event_ids(make_intake(twins)) == [b"e1"]
    assert event_ids(make_intake(twins)) == [b"e1"]


def test_a_new_line_knows_no_position_of_the_last_one(twins: Twins) -> None:
    """Promise 3."""
    intake = make_intake(twins)
    for frame in TRANSACTION:
        if (outcome := intake.take(frame)) is not None:
            intake.settle(outcome[1])
    assert (intake.ledger.report(), intake.ledger.received_lsn) == (100, 100)
    ledger = make_intake(twins).ledger
    assert (ledger.report(), ledger.received_lsn) == (0, 0)


def test_postgres_hears_from_us_while_we_drain(twins: Twins) -> None:
    """Promise 5: a drain may take longer than wal_sender_timeout."""
    rig = SessionRig(*transaction(100, 1), answer=frames.keepalive(100), make_window=twins.window)
    rig.turn()
    before = len(rig.stream.statuses)
    rig.session.part(20)
    assert len(rig.stream.statuses) - before >= 20


def test_the_window_is_never_exceeded(twins: Twins) -> None:
    """Promise 6, by its records."""
    rig = SessionRig(*transaction(100, 1)[:2], *map(row, range(50)), records=10, make_window=twins.window)
    rig.turn(3)
    assert rig.intake.window.record_count == rig.intake.window.record_limit


def test_the_window_is_full_by_its_bytes_alone(twins: Twins) -> None:
    """Promise 6."""
    window = twins.window(record_limit=10, byte_limit=100)
    window.take(99)
    assert not window.is_full
    window.take(1)
    assert window.is_full


def test_an_outage_of_an_hour_parks_nobody(twins: Twins) -> None:
    """Promise 7: there is one topic only, so its silence and the cluster's look the same until the cluster is asked."""
    rig = SessionRig(*transaction(100, 1, 2), answer=frames.keepalive(100), make_window=twins.window)
    rig.sink.away = "no broker"
    rig.run_until(3600)
    assert (rig.lot.rows, rig.confirmed) == ({}, 0)
    rig.sink.away, rig.sink.eager = "", True
    rig.run_until(5)
    assert (rig.lot.rows, rig.confirmed) == ({}, 100)


def test_a_parked_change_that_is_delivered_again_is_settled_without_being_published_or_parked_again(
    twins: Twins,
) -> None:
    """Promise 8."""
    first = SessionRig(*transaction(100, 1, 2), eager=True, make_window=twins.window)
    first.sink.verdict = lambda record: POISON
    first.run_until(3)
    again = SessionRig(*transaction(100, 1, 2), eager=True, lot=first.lot, make_window=twins.window)
    again.run_until(3)
    assert (again.sink.published, again.confirmed) == ([], 100)
    assert [each.status for each in first.lot.rows.values()] == [Status.DEAD, Status.DEAD]


def test_an_id_that_comes_again_in_another_transaction_is_another_change(twins: Twins) -> None:
    """Promise 8: identity is the place in the stream."""
    first = SessionRig(*transaction(100, 1), eager=True, make_window=twins.window)
    first.sink.verdict = lambda record: POISON
    first.run_until(3)
    again = SessionRig(*transaction(100, 1), *transaction(200, 1), eager=True, lot=first.lot, make_window=twins.window)
    again.run_until(3)
    assert len(again.sink.published) == 1
    assert again.confirmed == 200
