"""The replication line as the loop knows it."""

from __future__ import annotations

from typing import Protocol

from cdc_relay.bell import Bell
from cdc_relay.stop import Stop

__all__ = ["Stream"]


class Stream(Protocol):
    is_receiving: bool  # bytes had arrived when `read` last found no whole frame

    def read(self) -> bytes | memoryview | None: ...

    def send_status(self, *, write_lsn: int, flush_lsn: int, reply_requested: bool = False) -> None: ...

    def wait(self, timeout_seconds: float, *others: Stop | Bell) -> None:
        """Until there is something to read, or one of the others has something to say, or the time is over."""
        ...

    def close(self) -> None: ...
