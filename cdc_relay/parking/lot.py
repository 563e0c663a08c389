"""The seam to the table of parked records. Every call may block within limits: it is made on the helper thread.

All of them raise AwayError when the lot cannot be reached or refuses for now (nothing was changed then), and are safe
to repeat. RefusedError, for what no waiting cures, only from `open` and `take_over`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from cdc_relay.model import Identity
from cdc_relay.parking.entry import Claim, Entry, Inventory, Mark, Survey

__all__ = ["Lot"]


class Lot(Protocol):
    was_notified: bool  # somebody changed something; the loop takes the flag down

    def open(self) -> None:
        """Connect anew and make sure that table and rights are there; RefusedError with the remedy otherwise."""
        ...

    def take_over(self, confirmed_lsn: int) -> Inventory:
        """Only by the process that reads the slot, for each session. Claims left over are released."""
        ...

    def park(self, entries: Sequence[Entry]) -> None:
        """All of them durably, in this order; what is there already stays as it is. AwayError at the lot's limit."""
        ...

    def claim_due(self, *, closed_topics: Collection[str], limit: int) -> list[Claim]:
        """Retries and schedules that are due, oldest first, and copies. None whose key waits for an earlier record."""
        ...

    def claim_topic(self, topic: str, *, limit: int) -> list[Claim]:
        """Records that wait for this topic, in the order of the stream."""
        ...

    def claim_key(self, topic: str, key: bytes | None, *, limit: int) -> list[Claim]:
        """The oldest live records of a strict key, in order, up to the first that is not to be published yet."""
        ...

    def mark(self, marks: Sequence[Mark]) -> None: ...

    def survey(self) -> Survey: ...

    def open_note(self, identity: Identity, *, count: int = 1) -> None:
        """Durably: this record is being processed now, or so many from this one on. A run that dies with an open note
        makes it a suspect, if it was noted alone."""
        ...

    def close_note(self) -> None: ...

    def forget_handfuls(self) -> None:
        """Those that were noted together when a run died have passed."""
        ...

    def end_run(self) -> None:
        """This process ends in an orderly way."""
        ...

    def close(self) -> None: ...
