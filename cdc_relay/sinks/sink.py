"""The seam between the loop and a broker: records in, verdicts out, all on the loop's thread."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from cdc_relay.model import Failure, Record, Ticket

__all__ = ["Reports", "Sink"]


class Reports(NamedTuple):
    """What the broker decided since the last look."""

    delivered: list[Ticket]
    failed: list[tuple[Ticket, Failure]]


class Sink(Protocol):
    error: str  # the broker's latest complaint; empty while it answers

    def publish(self, record: Record, ticket: Ticket) -> None:
        """Hand a record out; its verdict comes with a later report. SinkError: the producer is finished."""
        ...

    def poll(self, timeout_seconds: float) -> Reports: ...

    def flush(self, timeout_seconds: float) -> Reports:
        """Like poll, but what is waiting to fill a batch goes out at once."""
        ...

    def reset(self) -> None:
        """Forget everything that is open: no report of it will come any more. It may be on the topic all the same."""
        ...

    def probe(self) -> None:
        """AwayError unless the broker answers. May block within limits, and be called from the helper thread."""
        ...

    def close(self) -> None: ...
