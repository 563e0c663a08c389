"""What a run has taken from its table and not settled: the window, and the position before which all is settled. Pure.

Takes the place that the intake has for a stream; there is no ledger here, and no LSN.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import cast

from cdc_relay.delivery.outcome import Outcome, make_ticket
from cdc_relay.delivery.window import Window
from cdc_relay.errors import LedgerError
from cdc_relay.model import DROPPED, Headers, Ticket, Unroutable
from cdc_relay.protocol.messages import Relation
from cdc_relay.replay.page import Page, Replayed, TableRow, row_identity
from cdc_relay.replay.position import Position
from cdc_relay.replay.stamp import stamp
from cdc_relay.replay.table import ReplayTable
from cdc_relay.routing.router import AnyPlan, Router

__all__ = ["Batch", "Batches"]


@dataclass(slots=True, eq=False)
class Batch:
    """Rows that are settled together as far as the position is concerned."""

    end: Position
    row_count: int = 0
    open_count: int = 0
    is_whole: bool = False


class Batches:
    def __init__(self, router: Router, window: Window, *, run: str, headers: Headers, position: Position) -> None:
        self.window = window
        self.has_passed_parked = True
        self.position = position  # everything before it is settled
        self.settled_count = 0  # rows before it
        self.dropped_count = 0
        self._router = router
        self._run = run
        self._headers = headers
        self._batches: deque[Batch] = deque()
        self._plans: dict[int, AnyPlan] = {}
        self._ordinal = 0
        self._read_at_us = 0

    @property
    def oldest(self) -> object | None:
        return self._batches[0] if self._batches else None

    @property
    def is_empty(self) -> bool:
        return not self._batches

    def begin(self, end: Position) -> Batch:
        batch = Batch(end)
        self._batches.append(batch)
        return batch

    def finish(self, batch: Batch) -> None:
        """All of its rows were taken."""
        batch.is_whole = True
        self._advance()

    def take(self, page: Page, row: TableRow, batch: Batch) -> Outcome | None:
        """Open in window and batch until its ticket is settled."""
        plan, ordinal = self._plan(page.table), self._ordinal
        self._read_at_us = page.read_at_us
        self._ordinal += 1
        batch.row_count += 1
        event = plan.event(row.values)
        transaction = self._transaction(page.table, row, event[0], batch)
        routed = plan.route(row.values, transaction, ordinal, transaction.commit_time_us // 1000)
        if routed is DROPPED:
            self.dropped_count += 1
            return None
        routed = stamp(routed, self._headers)
        ticket = make_ticket(routed, event, plan=plan, transaction=transaction, ordinal=ordinal)
        if isinstance(routed, Unroutable):
            ticket = ticket._replace(headers=self._headers)  # kept, for when it is routed again
        self.window.take(ticket.size_bytes)
        batch.open_count += 1
        return routed, ticket

    def settle(self, ticket: Ticket) -> None:
        self.window.release(ticket.size_bytes)
        batch = cast(Batch, cast(Replayed, ticket.transaction).batch)
        if batch.open_count <= 0:
            raise LedgerError(f"a record of {ticket.transaction} was settled twice")
        batch.open_count -= 1
        if not batch.open_count:
            self._advance()

    def settle_all(self, tickets: list[Ticket]) -> int:
        for ticket in tickets:
            self.settle(ticket)
        return sum(ticket.size_bytes for ticket in tickets)

    def _transaction(self, table: ReplayTable, row: TableRow, event_id: bytes | None, batch: Batch) -> Replayed:
        identity = row_identity(row, event_id, is_unique=table.has_unique_ids)
        time_us = row.time_us or time.time_ns() // 1000
        return Replayed(run=self._run, run_row=identity, commit_time_us=time_us, xid=row.xid, batch=batch)

    def _plan(self, table: ReplayTable) -> AnyPlan:
        plan = self._plans.get(id(table))
        if plan is None:
            outbox = table.outbox
            plan = self._router.plan(
                Relation(0, outbox.schema, outbox.name, "d", table.columns), now_us=lambda: self._read_at_us
            )
            assert plan is not None  # its own table
            self._plans[id(table)] = plan
        return plan

    def _advance(self) -> None:
        while self._batches and self._batches[0].is_whole and not self._batches[0].open_count:
            batch = self._batches.popleft()
            self.position = batch.end
            self.settled_count += batch.row_count
