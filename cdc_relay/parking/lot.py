"""The seam behind which failed records are kept: durably, or not at all.

This version's only lot refuses: the relay stops with the slot unmoved, so nothing is lost and nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import NamedTuple, Protocol

from cdc_relay.errors import RecordRefusedError
from cdc_relay.model import Failure, Ticket

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

    def park(self, rejects: Sequence[Reject]) -> Future[None]:
        future: Future[None] = Future()
        ticket, failure = rejects[0]
        future.set_exception(
            RecordRefusedError(
                f"{ticket} cannot be published: {failure.reason} [{failure.code}];"
                " the slot stays before its transaction",
                remedy=f"{failure.remedy}; then start the relay again: it continues with this record",
            )
        )
        return future
