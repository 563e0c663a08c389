"""Logical messages of the stream: rows without a table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdc_relay.delivery.failures import CRASH, judge
from cdc_relay.delivery.intake import Intake
from cdc_relay.model import KeptColumn, Record, Scheduled, Unroutable
from cdc_relay.routing import message_plan
from cdc_relay.routing.router import Outbox, Router
from tests.unit import frames
from tests.unit.intake_rig import feed, make_intake
from tests.unit.native_rig import Twins

PREFIX = Outbox("", "", "message prefix outbox", "id", "aggregateid", "type", "payload", message_prefix="outbox")
CONTENT = b'{"id": "e1", "aggregatetype": "order", "aggregateid": "k1", "type": "Placed", "payload": {"n": 1.10}}'


def test_a_transactional_message_is_a_row_of_its_transaction(twins: Twins) -> None:
    intake = make_intake(twins, PREFIX)
    stream = [frames.begin(90, time_us=frames.EPOCH_US + 5_000), frames.message(CONTENT), frames.commit(100)]
    [(record, ticket)] = feed(intake, *stream)
    assert isinstance(record, Record)
    assert record[:4] == ("outbox.event.order", b"k1", b'{"n": 1.10}', [("id", b"e1")])
    assert (ticket.identity[:3], ticket.event) == (("message prefix outbox", 90, 0), (b"e1", b"Placed"))
    intake.settle(ticket)
    assert intake.ledger.safe_lsn == 100


def test_a_message_outside_transactions_is_a_transaction_of_its_own(twins: Twins) -> None:
    intake = make_intake(twins, PREFIX)
    sent_us = frames.EPOCH_US + 9_000
    [(record, ticket)] = feed(intake, frames.message(CONTENT, lsn=70, transactional=False, sent_us=sent_us))
    assert isinstance(record, Record)
    assert record.timestamp_ms == sent_us // 1000
    assert (ticket.identity, intake.ledger.safe_lsn) == (("message prefix outbox", 69, 0, 0), 0)
    intake.settle(ticket)
    assert intake.ledger.safe_lsn == 70  # not one more: the next message begins right there


@pytest.mark.parametrize("transactional", [True, False])
@pytest.mark.parametrize(
    ("due", "outcome"), [("2000-01-01 00:01:00+00", Record), ("2000-01-01 00:01:01+00", Scheduled)]
)
def test_the_server_s_clock_decides_when_a_message_is_due(
    twins: Twins, due: str, outcome: type, transactional: bool
) -> None:
    intake = make_intake(twins, replace(PREFIX, schedule_column="due"))
    sent_us = frames.EPOCH_US + 60_000_000
    content = CONTENT[:-1] + b', "due": "' + due.encode() + b'"}'
    stream = [frames.begin(50, sent_us=sent_us)] if transactional else []
    stream.append(frames.message(content, lsn=70, transactional=transactional, sent_us=sent_us))
    assert [type(routed) for routed, _ in feed(intake, *stream)] == [outcome]


def test_after_a_message_outside_transactions_the_stream_counts_as_caught_up(twins: Twins) -> None:
    intake = make_intake(twins, PREFIX)
    late = frames.EPOCH_US + 60_000_000
    feed(intake, frames.begin(50, sent_us=late), frames.commit(51, sent_us=late))
    assert intake.lag_us == 60_000_000
    feed(intake, frames.message(CONTENT, lsn=70, transactional=False, sent_us=late))
    assert intake.lag_us == 0


def test_a_parked_message_is_passed_when_the_server_is_where_it_ends(twins: Twins) -> None:
    parked = frozenset({(PREFIX.label, 69, 0, 0)})
    intake = Intake(Router([PREFIX]), twins.window(record_limit=10, byte_limit=1000), parked)
    assert feed(intake, frames.message(CONTENT, lsn=70, transactional=False)) == []
    assert (intake.has_passed_parked, intake.ledger.safe_lsn) == (False, 70)
    intake.take(frames.keepalive(70))
    assert intake.has_passed_parked


def test_a_field_that_a_message_lacks_is_null_and_one_that_no_column_needs_is_ignored(twins: Twins) -> None:
    intake = make_intake(twins, PREFIX)
    content = b'{"aggregatetype": "order", "payload": "text", "else": [1]}'
    [(record, ticket)] = feed(intake, frames.begin(90), frames.message(content))
    assert isinstance(record, Record)
    assert record[:4] == ("outbox.event.order", None, b"text", [("id", None)])
    assert ticket.event == (None, None)


@pytest.mark.parametrize("content", [b"", b"text", b"[]", b'{"id": ', b"\xff", b"null"])
def test_a_message_that_is_no_object_is_set_aside_whole(content: bytes, twins: Twins) -> None:
    intake = make_intake(twins, PREFIX)
    [(unroutable, ticket)] = feed(intake, frames.begin(90), frames.message(content))
    assert isinstance(unroutable, Unroutable)
    assert (unroutable.failure.code, unroutable.columns) == ("bad_message", [KeptColumn("content", 25, content)])
    assert ticket.event == (None, None)


def test_a_message_without_a_route_is_kept_as_its_content_and_routed_again_from_it(twins: Twins) -> None:
    intake = make_intake(twins, PREFIX)
    content = CONTENT.replace(b'"order"', b"null")
    [(unroutable, ticket)] = feed(intake, frames.begin(90), frames.message(content))
    assert isinstance(unroutable, Unroutable)
    assert (unroutable.failure.code, unroutable.columns) == ("null_in_topic", [KeptColumn("content", 25, content)])
    again = Router([PREFIX]).route_columns(PREFIX.label, [KeptColumn("content", 25, CONTENT)], ticket.transaction, 0)
    assert isinstance(again, Record)
    assert again.topic == "outbox.event.order"


def test_a_message_of_another_prefix_is_ignored_and_counted(twins: Twins) -> None:
    intake = make_intake(twins, PREFIX)
    assert feed(intake, frames.message(CONTENT, prefix="else", lsn=70, transactional=False)) == []
    assert (intake.ignored_count, intake.ledger.oldest) == (1, None)


@pytest.mark.parametrize("transactional", [True, False])
def test_a_message_is_identified_before_it_is_taken(transactional: bool, twins: Twins) -> None:
    intake = make_intake(twins, PREFIX)
    frame = frames.message(CONTENT, lsn=95, transactional=transactional)
    if transactional:
        intake.take(frames.begin(100))
    identity = intake.identify(frame)
    [(_, ticket)] = feed(intake, frame)
    assert identity == ticket.identity


def test_a_condemned_message_is_not_opened(monkeypatch: pytest.MonkeyPatch, twins: Twins) -> None:
    """Opening it may be what killed the process."""
    intake = make_intake(twins, PREFIX)
    intake.take(frames.begin(90))
    monkeypatch.setattr(message_plan, "scan_object", lambda content: pytest.fail("it was opened"))
    outcome = intake.condemn(frames.message(CONTENT), judge(CRASH, "three deaths"))
    assert outcome is not None
    unroutable, ticket = outcome
    assert isinstance(unroutable, Unroutable)
    assert (unroutable.columns, ticket.event) == ([KeptColumn("content", 25, CONTENT)], (None, None))
