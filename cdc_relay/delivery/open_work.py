"""What was read and is not settled, as the dispatch sees it, whether it came from the stream or from a table."""

from __future__ import annotations

from typing import Protocol

from cdc_relay.delivery.window import Window
from cdc_relay.model import Ticket

__all__ = ["OpenWork"]


class OpenWork(Protocol):
    window: Window

    @property
    def has_passed_parked(self) -> bool:
        """Nothing comes any more that is older than what the lot has."""
        ...

    @property
    def oldest(self) -> object | None:
        """Of what is open; another object each time that the oldest is settled."""
        ...

    def settle(self, ticket: Ticket) -> None: ...

    def settle_all(self, tickets: list[Ticket]) -> int:
        """As `settle` for each; how many bytes they were."""
        ...
