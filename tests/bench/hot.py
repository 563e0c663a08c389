"""Hot drains: every peer streams and is caught up, its walsender is held while the backlog is written, and then one
walsender at a time is let go and timed until the last record is on the topics.

Held is the walsender and not the reader alone: socket buffers would hide 36 MB of work done before the clock starts.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence

from tests.bench.arrival import Arrival, watch_arrival
from tests.bench.costs import Costs, server_costs, streaming_costs
from tests.bench.drain import Drain, make_drain
from tests.bench.inspection import inspect
from tests.bench.peers.one_shot import OneShot
from tests.bench.peers.peer import Peer
from tests.bench.processes import rss_peak_mb
from tests.bench.stage import Backlog, Stage
from tests.bench.watch import Ends, Watch

__all__ = ["HotStage"]

SETTLE_SECONDS = 0.4


class HotStage:
    """Peers on one stage, all held but the one that is measured."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.peers: list[Peer | OneShot] = []
        # By peer: records on its topics beyond what was written, which are duplicates; less for one that came later.
        self.surplus: Counter[str] = Counter()
        self._watches: dict[str, Watch] = {}

    def add(self, peers: Sequence[Peer | OneShot]) -> None:
        """They stream when this returns, have delivered a first event, and are held."""
        bootstrap, partitions = self.stage.servers.kafka.bootstrap, self.stage.workload.partitions
        for peer in peers:
            peer.open(self.stage)
            self.peers.append(peer)
            if not isinstance(peer, OneShot):
                self._watches[peer.name] = Watch(bootstrap, peer.topics, partitions)
                self.surplus[peer.name] = self._count(peer) - self.stage.written
        self._probe()

    @property
    def streaming(self) -> list[Peer]:
        return [peer for peer in self.peers if not isinstance(peer, OneShot)]

    def close(self) -> None:
        for peer in self.peers:
            peer.close()
        self.stage.drop()

    def round(self, row_count: int | None = None, *, turn: int = 0, check: bool = True) -> Iterator[Drain]:
        """One backlog, drained by each peer in turn; who is first changes with `turn`."""
        backlog = self.stage.fill(row_count)
        shift = turn % len(self.peers)
        for peer in self.peers[shift:] + self.peers[:shift]:
            yield self.drain(peer, backlog, check=check)
        self.stage.forget_rows()

    def drain(self, peer: Peer | OneShot, backlog: Backlog, *, check: bool = True) -> Drain:
        return self._run(peer, backlog) if isinstance(peer, OneShot) else self._stream(peer, backlog, check)

    def _run(self, peer: OneShot, backlog: Backlog) -> Drain:
        before = server_costs(self.stage.servers)
        spent = peer.run(backlog)
        time.sleep(SETTLE_SECONDS)  # until its walsender has ended, and counts
        costs = server_costs(self.stage.servers).since(before)
        costs = Costs(spent.cpu_seconds, 0.0, costs.postgres, costs.broker)
        return make_drain(peer.name, backlog.count, spent.seconds, costs)

    def _stream(self, peer: Peer, backlog: Backlog, check: bool) -> Drain:
        before = self._watches[peer.name].ends() if peer.publishes else {}
        peer.release_process()
        time.sleep(SETTLE_SECONDS)  # what it put off while it was held
        seconds, costs = self._time(peer, backlog.count)
        peer.hold()
        duplicates = 0
        if peer.publishes and check:
            after = self._watches[peer.name].ends()
            duplicates = inspect(self.stage, peer.name, before, after, backlog)
        rss = rss_peak_mb(peer.pid)
        return make_drain(peer.name, backlog.count, seconds, costs, rss_peak_mb=rss, duplicates=duplicates)

    def _time(self, peer: Peer, row_count: int) -> tuple[float, Costs]:
        """The costs until it has been quiet for a while: confirming belongs to the work."""
        count = self._count(peer)
        before = streaming_costs(self.stage.servers, peer)
        started = time.monotonic()
        peer.release_walsender()
        arrival = self._wait(peer, count, count + row_count)
        return arrival.last_at - started, streaming_costs(self.stage.servers, peer).since(before)

    def catch_up(self, peer: Peer) -> None:
        """Let it go, until all that was ever written is delivered."""
        peer.release_process()
        peer.release_walsender()
        self._wait(peer, self._count(peer), self.stage.written + self.surplus[peer.name])

    def ends(self, peer: Peer) -> Ends:
        return self._watches[peer.name].ends()

    def _wait(self, peer: Peer, before: int, target: int) -> Arrival:
        pause = self._watches[peer.name].pause_seconds if peer.publishes else 0.02
        try:
            arrival = watch_arrival(lambda: self._count(peer), before, target, pause_seconds=pause)
        except TimeoutError as exc:
            raise SystemExit(f"{peer.name}, {self.stage.workload.name}: {exc}:\n{peer.complaint()}") from exc
        self.surplus[peer.name] += arrival.count - target
        return arrival

    def _count(self, peer: Peer) -> int:
        return self._watches[peer.name].count() if peer.publishes else peer.count()

    def _probe(self) -> None:
        """Each delivers one event, those too that were held: it reads, and knows its topics."""
        counts = [(peer, self._count(peer)) for peer in self.streaming]
        self.stage.fill(1)
        for peer, count in counts:
            peer.release_process()
            peer.release_walsender()
            self._wait(peer, count, count + 1)
        for peer, _ in counts:
            peer.hold()
