"""One run: what was asked for, the book that the parts write into, and the progress they print."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from tests.bench.measurement import Book, Measurement
from tests.bench.peers.catalog import make_peer
from tests.bench.peers.one_shot import OneShot
from tests.bench.peers.peer import Peer
from tests.bench.workloads import Workload

__all__ = ["Run"]


@dataclass
class Run:
    book: Book
    peers: Sequence[str]
    workloads: Sequence[Workload]
    rounds: int = 3
    warm_events: int = 1_200_000  # a JVM is as hot as it gets after about as many
    rates: Sequence[str] = ()
    seconds: float = 10.0  # of a latency round
    rows: int | None = None  # at most, where a quick look will do
    _started: float = field(default_factory=time.monotonic)

    def say(self, text: object) -> None:
        print(f"{time.monotonic() - self._started:6.0f} s  {text}", flush=True)

    def sized(self, workload: Workload) -> Workload:
        return replace(workload, rows=min(workload.rows, self.rows or workload.rows))

    def add(self, part: str, workload: str, peer: str, number: int, values: dict[str, float]) -> None:
        self.book.add(Measurement(part, workload, peer, number, values))

    @contextmanager
    def make_peers(self, names: Sequence[str]) -> Iterator[list[Peer | OneShot]]:
        """Whatever happens, none of them outlives the part: nor where the end of another one fails."""
        peers = [make_peer(name) for name in names]
        with ExitStack() as ends:
            for peer in peers:
                ends.callback(peer.end)
            yield peers
