"""The seam behind which failed records are kept: durably, or not at all.

This version's only lot refuses: the relay stops with the slot unmoved, so nothing is lost and nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import NamedTuple, Protocol

from cdc_relay.errors import RecordRefusedError
from cdc_relay.model import Failure, Ticket
from cdc_relay.protocol.lsn import format_lsn

__all__ = ["Lot", "RefusingLot", "Reject"]


class Reject(NamedTuple):
    """A change that could not be published, and why."""

    ticket: Ticket
    failure: Failure


class Lot(Protocol):
    def park(self, rejects: Sequence[Reject]) -> Future[None]:
        """The future is done when the rejects are durable; only then are they settled."""
        ...


class RefusingLot:
    """Stops the relay at the first record that cannot be published."""

    def __init__(self, slot: str) -> None:
        self._slot = slot

    def park(self, rejects: Sequence[Reject]) -> Future[None]:
        future: Future[None] = Future()
        ticket, failure = rejects[0]
        future.set_exception(
            RecordRefusedError(
                f"{ticket} cannot be published: {failure.reason} [{failure.code}];"
                " the slot stays before its transaction",
                remedy=f"{failure.remedy}; {self._way_on(ticket, permanent=failure.permanent)}",
            )
        )
        return future

    def _way_on(self, ticket: Ticket, *, permanent: bool) -> str:
        """A row is read from the WAL as it was inserted: repairing it in the table changes nothing."""
        if not permanent:
            return "then start the relay again: it continues with this record"
        behind = format_lsn(ticket.transaction.commit_lsn + 1)
        return (
            "this row stays in the WAL as it was inserted, so insert the events of its transaction again, then move the"
            f" slot past it and start the relay: SELECT pg_replication_slot_advance('{self._slot}', '{behind}')"
        )
