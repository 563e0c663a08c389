"""What an intake tells others beside the records: counts, positions, lag, and the words of its refusals."""

from __future__ import annotations

from struct import pack
from typing import Any

import pytest

from cdc_relay.delivery import twins as chosen_twins
from cdc_relay.delivery.failures import CRASH, judge
from cdc_relay.delivery.intake import Intake
from cdc_relay.errors import DecodeError
from cdc_relay.model import Identity, Record, Unroutable
from cdc_relay.native import is_native
from cdc_relay.routing.plan import Plan
from cdc_relay.routing.router import Outbox, Router
from tests.unit import frames
from tests.unit.intake_rig import OUTBOX, ROW, feed, make_intake
from tests.unit.native_rig import NATIVE, PYTHON, Twins

PREFIX = Outbox("", "", "message prefix outbox", "id", "aggregateid", "type", "payload", message_prefix="outbox")
CONTENT = b'{"id": "e1", "aggregatetype": "order", "aggregateid": "k1", "type": "Placed", "payload": {}}'
OWN_OID = 16_999
OPENING = (frames.begin(90), frames.relation(1), frames.relation(2, name="audit"))


def update(relation_id: int) -> bytes:
    return frames.xlog(b"U" + pack(">I", relation_id) + b"N\0\0", lsn=95)


def delete(relation_id: int) -> bytes:
    return frames.xlog(b"D" + pack(">I", relation_id) + b"K\0\0", lsn=95)


def truncate(*relation_ids: int) -> bytes:
    return frames.xlog(b"T" + pack(f">IB{len(relation_ids)}I", len(relation_ids), 0, *relation_ids), lsn=95)


def origin() -> bytes:
    return frames.xlog(b"O" + pack(">Q", 7) + b"north\0", lsn=95)


def opened(twins: Twins) -> Intake:
    intake = make_intake(twins)
    feed(intake, *OPENING)
    return intake


# --- counts


def test_a_new_intake_has_counted_nothing(twins: Twins) -> None:
    intake = make_intake(twins)
    assert (intake.ignored_count, intake.change_count, intake.dropped_count, intake.transaction_count) == (0, 0, 0, 0)
    assert (intake.reply_is_due, intake.idle_lsn, intake.lag_us, intake.largest_frame_bytes) == (False, 0, 0, 0)
    assert (intake.oldest, intake.has_passed_parked, intake.ledger.ceiling_lsn) == (None, True, 0)


def test_only_python_s_own_intake_is_pure(twins: Twins) -> None:
    assert make_intake(twins).is_pure is (twins is PYTHON)


def test_the_switch_decides_about_the_window() -> None:
    chosen = NATIVE if is_native else PYTHON
    assert chosen is not None
    assert chosen_twins.Window is chosen.window


def test_the_window_decides_about_the_ledger(twins: Twins) -> None:
    """They work on each other's fields."""
    assert type(make_intake(twins).ledger) is twins.ledger


def test_the_ceiling_of_the_guard_is_the_ledger_s_from_the_beginning(twins: Twins) -> None:
    window = twins.window(record_limit=10, byte_limit=1000)
    assert Intake(Router([OUTBOX]), window, ceiling_lsn=70).ledger.ceiling_lsn == 70


@pytest.mark.parametrize("frame", [update(1), delete(1), truncate(1)], ids=["update", "delete", "truncate"])
def test_other_changes_of_an_outbox_are_counted_and_published_by_nobody(frame: bytes, twins: Twins) -> None:
    intake = opened(twins)
    assert feed(intake, frame, frame) == []
    assert (intake.change_count, intake.ignored_count) == (2, 0)


@pytest.mark.parametrize(
    "frame",
    [update(2), delete(2), truncate(2), update(9), origin(), frames.message(CONTENT, prefix="else", lsn=95)],
    ids=["update", "delete", "truncate", "unknown", "origin", "message"],
)
def test_what_is_not_of_an_outbox_is_counted_as_ignored(frame: bytes, twins: Twins) -> None:
    intake = opened(twins)
    assert feed(intake, frame, frame) == []
    assert (intake.change_count, intake.ignored_count) == (0, 2)


def test_a_truncation_of_several_tables_counts_each_where_it_belongs(twins: Twins) -> None:
    intake = opened(twins)
    feed(intake, truncate(2, 1, 1))
    assert (intake.change_count, intake.ignored_count) == (2, 1)


def test_rows_of_other_tables_are_counted_one_by_one(twins: Twins) -> None:
    intake = opened(twins)
    feed(intake, *[frames.insert(*ROW, relation_id=2)] * 3)
    assert intake.ignored_count == 3


def test_transactions_are_counted_by_their_commits_and_messages_by_themselves(twins: Twins) -> None:
    intake = make_intake(twins, PREFIX)
    feed(intake, frames.begin(90))
    assert intake.transaction_count == 0
    feed(intake, frames.commit(100), frames.begin(110), frames.commit(120))
    feed(intake, frames.message(CONTENT, lsn=130, transactional=False))
    assert intake.transaction_count == 3


def test_the_largest_frame_is_remembered_and_a_keepalive_is_none(twins: Twins) -> None:
    intake = make_intake(twins)
    intake.take(frames.keepalive(50))
    assert intake.largest_frame_bytes == 0
    large = frames.insert(*ROW[:4], b"x" * 5_000)
    feed(intake, *OPENING, large, frames.insert(*ROW))
    assert intake.largest_frame_bytes == len(large)


def test_several_are_settled_together_and_their_bytes_told(twins: Twins) -> None:
    intake = opened(twins)
    tickets = [ticket for _, ticket in feed(intake, *[frames.insert(*ROW)] * 3, frames.commit(100))]
    assert intake.settle_all(tickets[:2]) == 2 * tickets[0].size_bytes
    assert (intake.window.record_count, intake.window.byte_count) == (1, tickets[2].size_bytes)
    assert intake.ledger.safe_lsn == 0
    assert intake.settle_all(tickets[2:]) == tickets[2].size_bytes
    assert (intake.window.record_count, intake.ledger.safe_lsn, intake.settle_all([])) == (0, 100, 0)


def test_the_oldest_is_the_ledger_s(twins: Twins) -> None:
    intake = opened(twins)
    [(_, ticket)] = feed(intake, frames.insert(*ROW), frames.commit(100))
    assert intake.oldest is ticket.transaction
    intake.settle(ticket)
    assert intake.oldest is None


# --- positions and times


@pytest.mark.parametrize(
    "frame",
    [
        frames.keepalive(95),
        frames.begin(95),
        origin(),
        frames.message(CONTENT, lsn=95, transactional=False),
        frames.message(CONTENT, prefix="else", lsn=95, transactional=False),
    ],
    ids=["keepalive", "begin", "origin", "message", "message of another prefix"],
)
def test_whatever_comes_says_how_far_the_server_is(frame: bytes, twins: Twins) -> None:
    intake = make_intake(twins, PREFIX)
    intake.take(frame)
    assert intake.ledger.received_lsn == 95


def test_a_commit_is_newer_than_every_idle_position_before_it(twins: Twins) -> None:
    intake = make_intake(twins)
    intake.take(frames.keepalive(50))
    feed(intake, frames.begin(90))
    assert intake.idle_lsn == 50
    feed(intake, frames.commit(100))
    assert intake.idle_lsn == 0


def test_an_idle_position_that_came_during_the_check_waits_for_the_next_one(twins: Twins) -> None:
    intake = make_intake(twins)
    intake.take(frames.keepalive(50))
    intake.take(frames.keepalive(60))
    intake.confirm_idle(50)
    assert (intake.idle_lsn, intake.ledger.safe_lsn) == (60, 50)
    intake.confirm_idle(60)
    assert (intake.idle_lsn, intake.ledger.safe_lsn) == (0, 60)


def test_a_commit_that_was_sent_late_is_a_lag_and_a_keepalive_ends_it(twins: Twins) -> None:
    intake = make_intake(twins)
    feed(intake, frames.begin(90), frames.commit(100, time_us=frames.EPOCH_US, sent_us=frames.EPOCH_US + 88))
    assert intake.lag_us == 88
    intake.take(frames.keepalive(100))
    assert intake.lag_us == 0


def test_a_keepalive_within_a_transaction_does_not_end_a_lag(twins: Twins) -> None:
    intake = make_intake(twins)
    feed(intake, frames.begin(90, sent_us=frames.EPOCH_US + 77), frames.keepalive(100))
    assert intake.lag_us == 77


def test_a_transactional_message_has_the_time_of_its_commit(twins: Twins) -> None:
    stream = [frames.begin(90, time_us=frames.EPOCH_US + 5_999), frames.message(CONTENT, lsn=80, sent_us=0)]
    [(record, _)] = feed(make_intake(twins, PREFIX), *stream)
    assert isinstance(record, Record)
    assert record.timestamp_ms == frames.EPOCH_US // 1000 + 5


def test_a_message_outside_transactions_has_the_time_at_which_it_was_sent(twins: Twins) -> None:
    sent_us = frames.EPOCH_US + 7_999
    [(record, _)] = feed(
        make_intake(twins, PREFIX), frames.message(CONTENT, lsn=80, transactional=False, sent_us=sent_us)
    )
    assert isinstance(record, Record)
    assert record.timestamp_ms == frames.EPOCH_US // 1000 + 7


def test_a_message_outside_transactions_has_no_transaction_s_number_and_no_time_of_commit(twins: Twins) -> None:
    [(_, ticket)] = feed(make_intake(twins, PREFIX), frames.message(CONTENT, lsn=80, transactional=False))
    assert (ticket.transaction.xid, ticket.transaction.commit_time_us) == (0, 0)


def test_a_row_is_routed_with_its_transaction_its_place_there_and_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some envelopes write them into the record."""
    asked: list[tuple[object, ...]] = []
    route = Plan.route

    def watch(plan: Plan, *about: Any) -> object:
        asked.append(about)
        return route(plan, *about)

    monkeypatch.setattr(Plan, "route", watch)
    intake = opened(PYTHON)
    [(_, first), _] = feed(intake, frames.insert(*ROW), frames.insert(*ROW))
    time_ms = frames.EPOCH_US // 1000
    assert asked == [(ROW, first.transaction, 0, time_ms), (ROW, first.transaction, 1, time_ms)]


# --- what the lot has, and what is condemned


def test_a_row_that_the_lot_has_is_settled_and_comes_to_nobody(twins: Twins) -> None:
    parked: frozenset[Identity] = frozenset({("public.outbox", 90, 0, frames.EPOCH_US)})
    intake = Intake(Router([OUTBOX]), twins.window(record_limit=10, byte_limit=1000), parked)
    assert feed(intake, *OPENING, frames.insert(*ROW), frames.commit(100)) == []
    assert (intake.ledger.safe_lsn, intake.window.record_count, intake.has_passed_parked) == (100, 0, True)


def test_the_lot_is_passed_when_the_server_is_beyond_it(twins: Twins) -> None:
    parked: frozenset[Identity] = frozenset({("public.outbox", 90, 0, frames.EPOCH_US)})
    intake = Intake(Router([OUTBOX]), twins.window(record_limit=10, byte_limit=1000), parked)
    intake.take(frames.keepalive(90))
    assert not intake.has_passed_parked
    intake.take(frames.keepalive(91))
    assert intake.has_passed_parked


def test_a_condemned_row_is_set_aside_whole_and_the_next_one_is_routed(twins: Twins) -> None:
    intake = opened(twins)
    failure = judge(CRASH, "three deaths")
    outcome = intake.condemn(frames.insert(*ROW), failure)
    assert outcome is not None
    unroutable, ticket = outcome
    assert isinstance(unroutable, Unroutable)
    assert (unroutable.failure, [column.value for column in unroutable.columns]) == (failure, list(ROW))
    assert (unroutable.policy, ticket.event, ticket.ordinal) == (OUTBOX.unrouted, (b"e1", b"Placed"), 0)
    [(record, _)] = feed(intake, frames.insert(*ROW))
    assert isinstance(record, Record)


def test_a_sentence_ends_with_its_row_even_if_that_cannot_be_taken(twins: Twins) -> None:
    intake = opened(twins)
    with pytest.raises(DecodeError):
        intake.condemn(frames.insert(*ROW, relation_id=9), judge(CRASH, "three deaths"))
    [(record, _)] = feed(intake, frames.insert(*ROW))
    assert isinstance(record, Record)


def test_a_column_of_a_domain_is_read_as_what_the_domain_is_made_of(twins: Twins) -> None:
    body = b"R" + pack(">I", 1) + b"public\0outbox\0d" + pack(">H", len(frames.OUTBOX_COLUMNS))
    for name in frames.OUTBOX_COLUMNS:
        body += b"\0" + name.encode() + b"\0" + pack(">Ii", OWN_OID if name == "payload" else 25, -1)
    described = frames.xlog(b"Y" + pack(">I", OWN_OID) + b"\0bytea\0"), frames.xlog(body)
    [(record, _)] = feed(make_intake(twins), frames.begin(90), *described, frames.insert(*ROW[:4], b"\\x6162"))
    assert isinstance(record, Record)
    assert record.value == b"ab"


# --- refusals


@pytest.mark.parametrize(
    ("stream", "complaint"),
    [
        ([b""], "copy data: at byte 0 expected 'w' or 'k', found -0x1"),
        ([b"x"], "copy data: at byte 0 expected 'w' or 'k', found 0x78"),
        ([frames.insert(*ROW)], "Insert: relation 1 was never described by a Relation message"),
        ([*OPENING, frames.insert(b"1", b"2")], "Insert: expected 5 columns as its Relation says, found 2"),
        ([*OPENING, frames.commit(100), frames.insert(*ROW)], "Insert: outside a transaction"),
        ([frames.message(CONTENT, lsn=80)], "Message: a transactional one outside a transaction"),
    ],
    ids=["empty", "no frame", "unknown relation", "columns", "row outside", "message outside"],
)
def test_a_refusal_says_what_was_expected(stream: list[bytes], complaint: str, twins: Twins) -> None:
    window = twins.window(record_limit=10, byte_limit=1000)
    with pytest.raises(DecodeError) as refusal:
        feed(Intake(Router([OUTBOX, PREFIX]), window), *stream)
    assert str(refusal.value) == complaint


def test_a_row_with_an_unchanged_value_is_refused(twins: Twins) -> None:
    """Only an update may have one."""
    body = b"I" + pack(">I", 1) + b"N" + pack(">H", 5) + b"u" * 5
    with pytest.raises(DecodeError) as refusal:
        feed(opened(twins), frames.xlog(body))
    assert str(refusal.value) == "Insert: expected every column, found one marked as unchanged"


def test_an_error_of_our_own_is_not_taken_for_a_bad_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise TypeError("a defect")

    monkeypatch.setattr("cdc_relay.routing.plan.Plan.route", fail)
    with pytest.raises(TypeError, match="a defect"):
        feed(opened(PYTHON), frames.insert(*ROW))
