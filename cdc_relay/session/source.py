"""Postgres as the relay knows it, beside the replication line itself."""

from __future__ import annotations

from typing import Protocol

from cdc_relay.model import Standing
from cdc_relay.session.stream import Stream
from cdc_relay.session.watch import CheckResult

__all__ = ["Source"]


class Source(Protocol):
    """Postgres as the helper thread uses it: every call may block, within limits."""

    server_is_leaving: bool

    def preflight(self) -> CheckResult: ...

    def open(self) -> Stream: ...

    def check(self) -> CheckResult: ...

    def is_free(self) -> bool:
        """Nobody reads the slot now."""
        ...

    def take_over(self) -> Standing:
        """Once the stream is open; RefusedError where events may be missing from it."""
        ...
