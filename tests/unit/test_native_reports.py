"""Settling a batch: both twins alike."""

from __future__ import annotations

from typing import Any

import pytest

from cdc_relay.delivery.intake import Intake
from cdc_relay.errors import LedgerError
from cdc_relay.model import Ticket
from tests.unit import frames
from tests.unit.intake_rig import ROW, feed, make_intake
from tests.unit.native_rig import NATIVE, Twins, needs_native


def make_open(twins: Twins) -> tuple[Intake, list[Ticket]]:
    intake = make_intake(twins)
    rows = [frames.insert(*ROW)] * 3
    outcomes = feed(intake, frames.begin(90), frames.relation(), *rows, frames.commit(100))
    return intake, [ticket for _, ticket in outcomes]


def test_a_batch_is_settled_in_ledger_and_window(twins: Twins) -> None:
    intake, tickets = make_open(twins)
    assert intake.settle_all(tickets[1:]) == sum(ticket.size_bytes for ticket in tickets[1:])
    assert (intake.ledger.safe_lsn, intake.window.record_count) == (0, 1)
    assert intake.window.byte_count == tickets[0].size_bytes
    assert intake.settle_all(tickets[:1]) == tickets[0].size_bytes
    assert (intake.ledger.safe_lsn, intake.window.byte_count, intake.settle_all([])) == (100, 0, 0)


def test_a_batch_that_names_a_record_twice_is_an_error(twins: Twins) -> None:
    intake, tickets = make_open(twins)
    feed(intake, frames.begin(110), frames.insert(*ROW), frames.insert(*ROW))  # room in the window for the mistake
    with pytest.raises(LedgerError, match="twice"):
        intake.settle_all([*tickets, tickets[0]])


@needs_native
@pytest.mark.parametrize("wrong", [None, (), (1, 2), ("transaction", 0, None, 5), object()])
def test_what_is_no_ticket_is_refused_without_a_crash(wrong: Any) -> None:
    assert NATIVE is not None
    intake, _ = make_open(NATIVE)
    with pytest.raises(TypeError):
        intake.settle_all([wrong])


@needs_native
def test_a_ticket_of_a_strange_transaction_is_refused_without_a_crash() -> None:
    assert NATIVE is not None
    intake, tickets = make_open(NATIVE)
    with pytest.raises(TypeError):
        intake.settle_all([tickets[0]._replace(transaction=None)])  # type: ignore[arg-type]  # wrong on purpose
