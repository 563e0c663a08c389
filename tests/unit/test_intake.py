"""What one stream brings, frame by frame. Logical messages: test_intake_messages.py."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdc_relay.delivery.intake import Intake
from cdc_relay.errors import DecodeError
from cdc_relay.model import Policy, Record, Scheduled, Unroutable
from cdc_relay.routing.router import Route, Router
from cdc_relay.routing.templates import Template
from tests.unit import frames
from tests.unit.intake_rig import OUTBOX, ROW, feed, make_intake
from tests.unit.native_frames import COLUMNS, OUTBOXES, raw_insert
from tests.unit.native_rig import Twins


def test_an_insert_becomes_the_default_route_s_record(twins: Twins) -> None:
    intake = make_intake(twins)
    time_us = frames.EPOCH_US + 1_234_567
    [(record, _)] = feed(intake, frames.begin(90, time_us=time_us), frames.relation(), frames.insert(*ROW))
    assert isinstance(record, Record)
    assert record[:5] == ("outbox.event.order", b"k1", b'{"n": 1.10}', [("id", b"e1")], time_us // 1000)
    assert record.size_bytes == len("id") + len(b"e1") + len(b"k1") + len(b'{"n": 1.10}')


@pytest.mark.parametrize("name", sorted(OUTBOXES))
@pytest.mark.parametrize("column", range(len(COLUMNS)))
def test_an_inserted_column_that_is_marked_as_unchanged_is_refused_or_not_used(
    twins: Twins, name: str, column: int
) -> None:
    """Postgres sends none. What every route says of it is the same."""
    intake = make_intake(twins, OUTBOXES[name])
    feed(intake, frames.begin(90), frames.relation(columns=COLUMNS), frames.insert(*ROW, None, None, None))
    row: list[bytes | str | None] = [*ROW, None, None, None]
    row[column] = "u"
    try:
        outcome = intake.take(raw_insert(1, row))
    except DecodeError as refusal:
        assert "marked as unchanged" in str(refusal)
    else:
        assert outcome is None or "UNCHANGED" not in str(outcome[0])


def test_a_ticket_names_its_place_and_settles_its_transaction(twins: Twins) -> None:
    intake = make_intake(twins)
    outcomes = [
        intake.take(frame)
        for frame in (
            frames.begin(90),
            frames.relation(),
            frames.insert(*ROW),
            frames.insert(*ROW),
            frames.commit(100),
        )
    ]
    tickets = [outcome[1] for outcome in outcomes if outcome is not None]
    assert [(ticket.transaction.commit_lsn, ticket.ordinal) for ticket in tickets] == [(90, 0), (90, 1)]
    intake.settle(tickets[1])
    assert intake.ledger.safe_lsn == 0
    intake.settle(tickets[0])
    assert (intake.ledger.safe_lsn, intake.window.record_count, intake.window.byte_count) == (100, 0, 0)


def test_a_relation_that_is_no_outbox_is_ignored_and_counted(twins: Twins) -> None:
    intake = make_intake(twins)
    other = frames.relation(2, name="audit")
    assert feed(intake, frames.begin(90), other, frames.insert(*ROW, relation_id=2), frames.commit(100)) == []
    assert intake.ignored_count == 1
    assert intake.ledger.safe_lsn == 100


def test_a_row_without_a_route_is_an_open_failure(twins: Twins) -> None:
    intake = make_intake(twins)
    row = (b"e1", None, b"k1", b"Placed", b"{}")
    [(unroutable, ticket)] = feed(intake, frames.begin(90), frames.relation(), frames.insert(*row), frames.commit(100))
    assert isinstance(unroutable, Unroutable)
    assert "e1" in str(ticket)
    assert (ticket.topic, ticket.headers, ticket.event) == ("", [], (b"e1", b"Placed"))
    assert intake.ledger.safe_lsn == 0


def test_the_window_counts_an_unroutable_row_whole(twins: Twins) -> None:
    intake = make_intake(twins)
    row = (b"e1", None, b"k1", b"Placed", b"{}")
    [(_, ticket)] = feed(intake, frames.begin(90), frames.relation(), frames.insert(*row), frames.commit(100))
    assert ticket.size_bytes == intake.window.byte_count == len(b"e1k1Placed{}")
    intake.settle(ticket)
    assert (intake.window.byte_count, intake.ledger.safe_lsn) == (0, 100)


def test_a_ticket_tells_what_parking_needs(twins: Twins) -> None:
    [(record, ticket)] = feed(make_intake(twins), frames.begin(90), frames.relation(), frames.insert(*ROW))
    assert isinstance(record, Record)
    assert ticket.identity == ("public.outbox", 90, 0, frames.EPOCH_US)
    assert (ticket.origin.event_fields, ticket.event) == (("id", "type"), (b"e1", b"Placed"))
    assert (ticket.find_headers(), *ticket[6:]) == (record.headers, "outbox.event.order", record.policy)
    assert ticket.size_bytes == record.size_bytes


def test_a_scheduled_row_is_open_like_any_other(twins: Twins) -> None:
    intake = make_intake(twins, replace(OUTBOX, schedule_column="due"))
    described = frames.relation(columns=(*frames.OUTBOX_COLUMNS, "due"))
    row = (*ROW, b"2030-01-01 00:00:00+00")
    [(scheduled, ticket)] = feed(intake, frames.begin(90), described, frames.insert(*row))
    assert isinstance(scheduled, Scheduled)
    assert (ticket.topic, ticket.size_bytes) == (scheduled.record.topic, scheduled.record.size_bytes)
    assert intake.window.record_count == 1


def test_columns_may_change_in_the_middle_of_the_stream(twins: Twins) -> None:
    intake = make_intake(twins)
    columns = ("payload", "new", "aggregatetype", "id", "type", "aggregateid")
    row = (b"{}", None, b"order", b"e2", b"Placed", b"k2")
    [_, (record, _)] = feed(
        intake,
        frames.begin(90),
        frames.relation(),
        frames.insert(*ROW),
        frames.relation(columns=columns),
        frames.insert(*row),
    )
    assert isinstance(record, Record)
    assert (record.key, record.value, record.headers) == (b"k2", b"{}", [("id", b"e2")])


def test_a_keepalive_outside_a_transaction_is_only_a_candidate(twins: Twins) -> None:
    intake = make_intake(twins)
    intake.take(frames.keepalive(500))
    assert (intake.idle_lsn, intake.ledger.safe_lsn) == (500, 0)
    intake.confirm_idle(500)
    assert intake.ledger.safe_lsn == 500


def test_a_keepalive_inside_a_transaction_is_no_candidate(twins: Twins) -> None:
    intake = make_intake(twins)
    feed(intake, frames.begin(90), frames.keepalive(500))
    assert intake.idle_lsn == 0


def test_a_keepalive_that_asks_for_a_reply_is_remembered(twins: Twins) -> None:
    intake = make_intake(twins)
    intake.take(frames.keepalive(500))
    assert not intake.reply_is_due
    intake.take(frames.keepalive(501, reply=True))
    assert intake.reply_is_due


def test_lag_is_measured_by_the_server_s_clock_alone(twins: Twins) -> None:
    intake = make_intake(twins)
    intake.take(frames.begin(90, time_us=frames.EPOCH_US, sent_us=frames.EPOCH_US + 77))
    assert intake.lag_us == 77


@pytest.mark.parametrize(
    "stream",
    [
        [b""],
        [b"x"],
        [frames.begin(90), frames.insert(*ROW)],
        [frames.begin(90), frames.relation(), frames.insert(b"too few")],
    ],
    ids=["empty", "no frame", "unknown relation", "columns missing"],
)
def test_what_the_protocol_does_not_allow_is_a_decode_error(stream: list[bytes], twins: Twins) -> None:
    with pytest.raises(DecodeError):
        feed(make_intake(twins), *stream)


def test_a_change_outside_a_transaction_is_refused(twins: Twins) -> None:
    intake = make_intake(twins)
    with pytest.raises(DecodeError, match="outside a transaction"):
        feed(intake, frames.begin(90), frames.relation(), frames.commit(100), frames.insert(*ROW))


# --- what is not yet due


SENT_US = frames.EPOCH_US + 60_000_000  # 2000-01-01 00:01:00, which every clock of ours is past


@pytest.mark.parametrize(
    ("due", "outcome"), [(b"2000-01-01 00:01:00+00", Record), (b"2000-01-01 00:01:01+00", Scheduled)]
)
def test_the_server_s_clock_decides_what_is_due(twins: Twins, due: bytes, outcome: type) -> None:
    """By when it sent the transaction. This machine's clock may be wrong."""
    intake = make_intake(twins, replace(OUTBOX, schedule_column="due"))
    stream = [frames.begin(90, sent_us=SENT_US), frames.relation(columns=(*frames.OUTBOX_COLUMNS, "due"))]
    routed = [each for each, _ in feed(intake, *stream, *[frames.insert(*ROW, due)] * 2)]
    assert [type(each) for each in routed] == [outcome] * 2


def test_what_becomes_due_while_its_transaction_is_sent_is_scheduled(twins: Twins) -> None:
    """The lot gives it out at once. A row's own time would cost each of them."""
    intake = make_intake(twins, replace(OUTBOX, schedule_column="due"))
    row = frames.insert(*ROW, b"2000-01-01 00:01:30+00", sent_us=SENT_US + 60_000_000)
    stream = [frames.begin(90, sent_us=SENT_US), frames.relation(columns=(*frames.OUTBOX_COLUMNS, "due")), row]
    assert [type(routed) for routed, _ in feed(intake, *stream)] == [Scheduled]


def test_a_later_transaction_is_judged_by_its_own_time(twins: Twins) -> None:
    intake = make_intake(twins, replace(OUTBOX, schedule_column="due"))
    row = frames.insert(*ROW, b"2000-01-01 00:01:30+00")
    early = [frames.begin(90, sent_us=SENT_US), frames.relation(columns=(*frames.OUTBOX_COLUMNS, "due")), row]
    late = [frames.begin(190, sent_us=SENT_US + 30_000_000), row]
    routed = [each for each, _ in feed(intake, *early, frames.commit(100), *late)]
    assert [type(each) for each in routed] == [Scheduled, Record]


# --- what is never published


def test_a_row_that_a_route_drops_is_settled_and_counted(twins: Twins) -> None:
    drop = Route(Template(("",)), Policy("drop"), drop=True)
    intake = make_intake(twins, replace(OUTBOX, routes=(drop,)))
    assert feed(intake, frames.begin(90), frames.relation(), frames.insert(*ROW), frames.commit(100)) == []
    assert (intake.dropped_count, intake.ledger.safe_lsn, intake.window.record_count) == (1, 100, 0)


# --- what the lot has


def test_the_newest_parked_row_is_passed_by_the_next_row_of_its_transaction(twins: Twins) -> None:
    """Its Commit may be far away, and nothing is taken out of the lot before."""
    parked = frozenset({("public.outbox", 90, 1, frames.EPOCH_US)})
    intake = Intake(Router([OUTBOX]), twins.window(record_limit=10, byte_limit=1000), parked)
    outcomes = feed(intake, frames.begin(90), frames.relation(), frames.insert(*ROW), frames.insert(*ROW))
    assert not intake.has_passed_parked
    outcomes += feed(intake, frames.insert(*ROW))
    assert intake.has_passed_parked
    assert [ticket.ordinal for _, ticket in outcomes] == [0, 2]  # the lot has the one in between
