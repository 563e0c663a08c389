"""Window, ledger and way of taking frames: the compiled ones where they are built, or Python's own, which are the rule.

Which window is asked for decides about the rest: the three work on each other's fields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cdc_relay.delivery import ledger, window
from cdc_relay.delivery.outcome import Outcome
from cdc_relay.delivery.parked import Parked
from cdc_relay.model import Ticket
from cdc_relay.native import is_native
from cdc_relay.routing.router import AnyPlan

if TYPE_CHECKING:
    from cdc_relay.delivery.intake import Intake

__all__ = ["Take", "Window", "make_ledger", "make_take", "settle_all"]

Take = Callable[[bytes | memoryview], Outcome | None]

if TYPE_CHECKING or not is_native:
    Window = window.Window
else:
    from cdc_relay.native.ledger import Window


def make_ledger(beside: Window, *, ceiling_lsn: int) -> ledger.Ledger:
    if isinstance(beside, window.Window):
        return ledger.Ledger(ceiling_lsn=ceiling_lsn)
    from cdc_relay.native.ledger import Ledger

    return Ledger(ceiling_lsn=ceiling_lsn)


def make_take(intake: Intake, take_any: Take, *, plans: dict[int, AnyPlan | None], parked: Parked) -> Take:
    """`take_any` for all frames, and a shorter way for the usual ones."""
    if isinstance(intake.window, window.Window):
        return take_any
    from cdc_relay.native.lane import Lane

    return Lane(intake, take_any, plans=plans, parked=parked).take


def settle_all(tickets: list[Ticket], book: ledger.Ledger, room: Window) -> int:
    """Settle each in ledger and window; how many bytes they were."""
    if not isinstance(room, window.Window):
        from cdc_relay.native.reports import settle_all as settle_all_natively

        return settle_all_natively(tickets, book, room)
    size_bytes = 0
    for ticket in tickets:
        size_bytes += ticket.size_bytes
        room.release(ticket.size_bytes)
        book.settle(ticket.transaction)
    return size_bytes
