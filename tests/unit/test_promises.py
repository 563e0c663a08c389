"""Promises that no other unit test would see broken."""

from __future__ import annotations

from cdc_relay.delivery.intake import Intake
from cdc_relay.delivery.window import Window
from cdc_relay.model import Record
from cdc_relay.parking.lot import RefusingLot
from cdc_relay.routing.router import Outbox, Router
from cdc_relay.session import Session, Timing
from cdc_relay.stats import Stats
from cdc_relay.stop import Stop
from tests.unit import frames
from tests.unit.fakes import FakeChecks, FakeClock, FakeSink, FakeStream

OUTBOX = Outbox("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload")
TRANSACTION = (
    frames.begin(90),
    frames.relation(),
    frames.insert(b"e1", b"order", b"k1", b"Placed", b"{}"),
    frames.commit(100),
)


def make_intake() -> Intake:
    return Intake(Router([OUTBOX]), Window(record_limit=10, byte_limit=1000))


def event_ids(intake: Intake) -> list[bytes | None]:
    """Of the records that the stream of TRANSACTION brings."""
    outcomes = [outcome for frame in TRANSACTION if (outcome := intake.take(frame)) is not None]
    return [routed.event_id for routed, _ in outcomes if isinstance(routed, Record)]


def test_what_an_earlier_line_brought_is_published_again_when_the_slot_brings_it_again() -> None:
    """Promise 1: the slot alone knows where we are."""
    assert event_ids(make_intake()) == [b"e1"]
    assert event_ids(make_intake()) == [b"e1"]


def test_a_new_line_knows_no_position_of_the_last_one() -> None:
    """Promise 3."""
    intake = make_intake()
    for frame in TRANSACTION:
        if (outcome := intake.take(frame)) is not None:
            intake.settle(outcome[1])
    assert (intake.ledger.report(), intake.ledger.received_lsn) == (100, 100)
    ledger = make_intake().ledger
    assert (ledger.report(), ledger.received_lsn) == (0, 0)


def make_session(stream: FakeStream, intake: Intake, clock: FakeClock) -> Session:
    """With a broker that acknowledges nothing."""
    return Session(
        stream,
        intake,
        sink=FakeSink(clock),
        lot=RefusingLot("s"),
        check=FakeChecks(),
        server_is_leaving=lambda: False,
        stats=Stats(),
        stop=Stop(),
        timing=Timing(status=1),
        clock=clock,
    )


def test_postgres_hears_from_us_while_we_drain() -> None:
    """Promise 5: a drain may take longer than wal_sender_timeout."""
    clock = FakeClock()
    stream = FakeStream(clock, *TRANSACTION, answer=frames.keepalive(100))
    session = make_session(stream, make_intake(), clock)
    session._turn()
    before = len(stream.statuses)
    session.part(20)
    assert len(stream.statuses) - before >= 20


def test_the_window_is_never_exceeded() -> None:
    """Promise 6, by its records."""
    clock, intake = FakeClock(), make_intake()
    session = make_session(FakeStream(clock, *TRANSACTION[:2], *[TRANSACTION[2]] * 50), intake, clock)
    for _ in range(3):
        session._turn()
    assert intake.window.record_count == intake.window.record_limit


def test_the_window_is_full_by_its_bytes_alone() -> None:
    """Promise 6."""
    window = Window(record_limit=10, byte_limit=100)
    window.take(99)
    assert not window.is_full
    window.take(1)
    assert window.is_full
