"""What the harness asks of a peer that streams: to begin reading its own slot, to be held, and how far it is.

A peer starts and stops its process; the timing is the harness's.
"""

from __future__ import annotations

from typing import Protocol

from tests.bench.processes import hold, release
from tests.bench.stage import Stage
from tests.fixtures.process import wait_until

__all__ = ["Peer", "StreamingPeer"]


class Peer(Protocol):
    """What drains count on."""

    name: str
    publishes: bool  # to topics that can be checked; else it only counts

    @property
    def topics(self) -> list[str]: ...
    @property
    def pid(self) -> int: ...
    @property
    def walsender_pid(self) -> int: ...
    def open(self, stage: Stage) -> None:
        """Start reading a slot of its own; it streams when this returns, and what is committed later is delivered."""

    def close(self) -> None:
        """Leave the stage; hot things, like a JVM, may stay."""

    def end(self) -> None:
        """Leave no process behind."""

    def count(self) -> int:
        """Events so far, where it does not publish them."""

    def complaint(self) -> str:
        """Its last words, for an error message."""

    def scrape(self) -> None:
        """Ask for its metrics, as a monitoring system does; nothing where it has no page of them."""

    def hold(self) -> None: ...
    def release_process(self) -> None: ...
    def release_walsender(self) -> None: ...


class StreamingPeer:
    """What they have in common: a slot that is named for the peer, and the walsender that serves it."""

    name = "peer"
    publishes = True

    def __init__(self) -> None:
        self.topics: list[str] = []
        self._stage: Stage | None = None
        self._walsender_pid = 0

    @property
    def slot(self) -> str:
        return f"{self.stage.database.name}_{self.name.replace('-', '_')}"

    @property
    def stage(self) -> Stage:
        if self._stage is None:
            raise RuntimeError(f"{self.name} is on no stage")
        return self._stage

    @property
    def pid(self) -> int:
        raise NotImplementedError

    @property
    def walsender_pid(self) -> int:
        return self._walsender_pid

    def count(self) -> int:
        return 0

    def complaint(self) -> str:
        return ""

    def scrape(self) -> None:
        return

    def hold(self) -> None:
        """The walsender first: what it has sent would hide in the socket's buffers, 36 MB of it."""
        hold([self._walsender_pid, self.pid])

    def release_process(self) -> None:
        release([self.pid])

    def release_walsender(self) -> None:
        release([self._walsender_pid])

    def _wait_for_walsender(self, timeout: float = 60) -> None:
        def is_there() -> bool:
            self._walsender_pid = self.stage.walsender_pid(self.slot) or 0
            return self._walsender_pid > 0

        wait_until(is_there, timeout=timeout, what=f"{self.name} reads its slot")
