"""The callback of a record's verdict, and settling a batch: both twins alike."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from cdc_relay.delivery.intake import Intake
from cdc_relay.errors import LedgerError
from cdc_relay.model import Ticket
from cdc_relay.sinks.report import PureTray, make_pure_report
from tests.unit import frames
from tests.unit.intake_rig import ROW, feed, make_intake
from tests.unit.native_rig import NATIVE, Twins, needs_native

Kinds = tuple[type[PureTray], Callable[..., Callable[..., None]]]
SLIP: Any = object()
ERROR: Any = object()
MESSAGE: Any = object()


@pytest.fixture
def kinds(twins: Twins) -> Kinds:
    if twins is not NATIVE:
        return PureTray, make_pure_report
    from cdc_relay.native.reports import Tray, make_report

    return Tray, make_report


def test_without_an_error_the_slip_is_laid_down(kinds: Kinds) -> None:
    make_tray, make_report = kinds
    tray = make_tray(lambda *_: pytest.fail("it failed"))
    assert make_report(tray, SLIP, 7, -1)(None, MESSAGE) is None
    assert tray.delivered == [SLIP]


def test_a_report_finds_the_list_that_is_in_the_tray_then(kinds: Kinds) -> None:
    """The owner takes the list away, and lays down another."""
    make_tray, make_report = kinds
    tray = make_tray(lambda *_: None)
    report = make_report(tray, SLIP, 7, -1)
    taken, tray.delivered = tray.delivered, []
    report(None, MESSAGE)
    assert (taken, tray.delivered) == ([], [SLIP])


def test_an_error_is_told_with_all_that_is_known(kinds: Kinds) -> None:
    make_tray, make_report = kinds
    told: list[tuple[Any, ...]] = []
    tray = make_tray(lambda *all_of_it: told.append(all_of_it))
    make_report(tray, SLIP, 7, 3)(ERROR, MESSAGE)
    assert (told, tray.delivered) == ([(SLIP, 7, 3, ERROR, MESSAGE)], [])


def test_what_is_raised_comes_out(kinds: Kinds) -> None:
    make_tray, make_report = kinds

    def fail(*_: Any) -> None:
        raise RuntimeError("from within")

    with pytest.raises(RuntimeError, match="from within"):
        make_report(make_tray(fail), SLIP, 7, 3)(ERROR, MESSAGE)


@pytest.mark.parametrize("arguments", [(), (None,), (None, None, None)])
def test_a_report_that_is_called_wrongly_says_so(kinds: Kinds, arguments: tuple[None, ...]) -> None:
    make_tray, make_report = kinds
    with pytest.raises(TypeError):
        make_report(make_tray(lambda *_: None), SLIP, 7, 3)(*arguments)


def test_reports_hold_what_they_need_and_no_longer(kinds: Kinds) -> None:
    make_tray, make_report = kinds
    tray, slip = make_tray(lambda *_: None), object()
    held = sys.getrefcount(slip)
    reports = [make_report(tray, slip, 7, 3) for _ in range(10_000)]  # more than are kept for reuse
    assert sys.getrefcount(slip) == held + 10_000
    del reports
    assert sys.getrefcount(slip) == held
    make_report(tray, slip, 7, 3)(None, MESSAGE)
    assert sys.getrefcount(slip) == held + 1  # in the tray


# --- settling a batch


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
