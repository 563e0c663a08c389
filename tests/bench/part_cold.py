"""The parts `cold` and `start`: a backlog that was written before, timed from the start of the process to its first and
its last record. After the drain of a large backlog Postgres reads much of its WAL again at the next start, some 0.3 s:
`start`, which asks for the process and not for Postgres, has a small one.

Debezium starts with its connector configured, and with the offsets that an earlier run of it stored: without them it
would begin at the current position and skip the backlog. All are primed alike: run once, for one event, and stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Protocol

from tests.bench.arrival import Arrival, watch_arrival
from tests.bench.costs import Costs, server_costs
from tests.bench.drain import Drain, make_drain
from tests.bench.inspection import inspect
from tests.bench.peers.debezium import TUNED, UNTUNED, Debezium
from tests.bench.peers.names import RELAY, TUNED_DEBEZIUM, UNTUNED_DEBEZIUM
from tests.bench.peers.one_shot import warm_broker
from tests.bench.peers.relay import Relay
from tests.bench.processes import cpu_seconds, rss_peak_mb
from tests.bench.run import Run
from tests.bench.servers import servers
from tests.bench.stage import Backlog, Stage
from tests.bench.watch import Watch
from tests.bench.workloads import DEFAULT, Workload
from tests.fixtures.process import wait_until

__all__ = ["run_cold", "run_start"]

POLL_SECONDS = 0.02
BROKER_WARM_EVENTS = 600_000
START_ROWS = 1000


class Starter(Protocol):
    """A peer that can be started and stopped like a service."""

    name: str

    @property
    def topics(self) -> list[str]: ...
    @property
    def pid(self) -> int: ...
    @property
    def slot(self) -> str: ...
    def prepare(self, stage: Stage) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def end(self) -> None: ...
    def complaint(self) -> str: ...


_MAKERS: dict[str, Callable[[], Starter]] = {
    RELAY: Relay,
    TUNED_DEBEZIUM: lambda: Debezium(TUNED),
    UNTUNED_DEBEZIUM: lambda: Debezium(UNTUNED),
}


def run_cold(run: Run) -> None:
    _run(run, "cold", run.sized(DEFAULT))


def run_start(run: Run) -> None:
    _run(run, "start", replace(DEFAULT, rows=START_ROWS))


def _run(run: Run, part: str, workload: Workload) -> None:
    peers = [_MAKERS[name]() for name in run.peers if name in _MAKERS]
    with ExitStack() as ends:
        place = ends.enter_context(servers())
        for peer in peers:
            ends.callback(peer.end)
        stage = ColdStage(Stage(place, workload), peers)
        run.say(f"{part}: priming")
        stage.prime()
        for number in range(run.rounds):
            for drain, first_s in stage.round(number):
                run.say(f"round {number + 1}  {drain}, first record after {first_s:.2f} s")
                run.add(part, workload.name, drain.peer, number, {**drain.values(), "first_record_s": first_s})


class ColdStage:
    def __init__(self, stage: Stage, peers: list[Starter]) -> None:
        self.stage = stage
        self.peers = peers
        self._watches: dict[str, Watch] = {}

    def prime(self) -> None:
        """They run at the same time, for one event must do for all slots."""
        warm_broker(self.stage, BROKER_WARM_EVENTS)
        for peer in self.peers:
            peer.prepare(self.stage)
            self._watches[peer.name] = Watch(self.stage.servers.kafka.bootstrap, peer.topics, DEFAULT.partitions)
            peer.start()
        for peer in self.peers:
            is_read = partial(self.stage.is_read, peer.slot)
            wait_until(is_read, timeout=60, what=f"{peer.name} reads its slot")
        self.stage.fill(1)
        for peer in self.peers:
            wait_until(partial(self._has_delivered, peer), timeout=60, what=f"{peer.name} delivers")
            peer.stop()

    def round(self, turn: int) -> Iterator[tuple[Drain, float]]:
        """With the seconds to the first record."""
        backlog = self.stage.fill()
        shift = turn % len(self.peers)
        for peer in self.peers[shift:] + self.peers[:shift]:
            yield self._drain(peer, backlog)
        self.stage.forget_rows()

    def _drain(self, peer: Starter, backlog: Backlog) -> tuple[Drain, float]:
        before, costs = self._watches[peer.name].ends(), server_costs(self.stage.servers)
        started = time.monotonic()
        peer.start()
        arrival = self._watch(peer, sum(before.values()), backlog.count)
        spent = server_costs(self.stage.servers).since(costs)
        spent = Costs(cpu_seconds(peer.pid), 0.0, spent.postgres, spent.broker)
        rss = rss_peak_mb(peer.pid)
        peer.stop()
        duplicates = inspect(self.stage, peer.name, before, self._watches[peer.name].ends(), backlog)
        seconds = arrival.last_at - started
        drain = make_drain(peer.name, backlog.count, seconds, spent, rss_peak_mb=rss, duplicates=duplicates)
        return drain, arrival.first_at - started

    def _watch(self, peer: Starter, before: int, count: int) -> Arrival:
        """One who looks more often takes from the CPU that the start needs."""
        watch = self._watches[peer.name]
        try:
            return watch_arrival(watch.count, before, before + count, pause_seconds=POLL_SECONDS)
        except TimeoutError as exc:
            raise SystemExit(f"{peer.name}, cold: {exc}:\n{peer.complaint()}") from exc

    def _has_delivered(self, peer: Starter) -> bool:
        return self._watches[peer.name].count() > 0
