"""Commit to consumer at a steady rate: one peer at a time, caught up and hot, the others held."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.arrival import STALL_SECONDS
from tests.bench.hot import HotStage
from tests.bench.inspection import inspect
from tests.bench.measurement import fell_behind
from tests.bench.peers.peer import Peer
from tests.bench.processes import cpu_seconds
from tests.bench.stage import Pace
from tests.fixtures.process import Process, end, spawn, tail, wait_until

__all__ = ["Latency", "measure_latency", "pace_of"]

WARM_SECONDS = 2.0
WRITERS = 5
SINGLE_ROWS_UP_TO = 5000


@dataclass(frozen=True)
class Latency:
    peer: str
    rate_per_s: float
    p50_ms: float
    p90_ms: float
    p99_ms: float
    max_ms: float
    cpu_percent: float  # of one core
    written_per_s: float
    duplicates: int

    @property
    def is_behind(self) -> bool:
        return fell_behind(self.values())

    def values(self) -> dict[str, float]:
        return {name: value for name, value in vars(self).items() if name != "peer"}

    def __str__(self) -> str:
        delays = f"p50 {self.p50_ms:.1f}, p99 {self.p99_ms:.1f}, max {self.max_ms:.0f} ms"
        behind = f"; does not count, the writers made {self.written_per_s:,.0f}/s" if self.is_behind else ""
        return f"{self.peer:18}{self.rate_per_s:>8,.0f}/s  {delays}, {self.cpu_percent:.0f} % CPU{behind}"


def pace_of(rate: float) -> Pace:
    """One session up to 1,000/s, then five; one row per transaction up to 5,000/s, then ten."""
    writers = 1 if rate <= 1000 else WRITERS
    per_transaction = 1 if rate <= SINGLE_ROWS_UP_TO else 10
    return Pace(writers, rate / writers / per_transaction, per_transaction)


def measure_latency(stage: HotStage, peer: Peer, *, rate: float, seconds: float) -> Latency:
    stage.catch_up(peer)
    before, pace = stage.ends(peer), pace_of(rate)
    [((topic, _), offset)] = before.items()
    count = pace.row_count(seconds + WARM_SECONDS)
    with _reader(stage, topic, offset, count, pace.row_count(WARM_SECONDS)) as output:
        cpu, started = cpu_seconds(peer.pid), time.monotonic()
        backlog = stage.stage.write_steadily(pace, seconds + WARM_SECONDS)
        elapsed = time.monotonic() - started
        used = cpu_seconds(peer.pid) - cpu
        arrives = f"{count} events arrive"
        wait_until(lambda: len(output.read_text().split()) == 1 + 4, timeout=STALL_SECONDS, what=arrives)
        p50, p90, p99, worst = map(float, output.read_text().split()[1:])
    duplicates = inspect(stage.stage, peer.name, before, stage.ends(peer), backlog)
    stage.surplus[peer.name] += duplicates
    peer.hold()
    return Latency(peer.name, rate, p50, p90, p99, worst, used / elapsed * 100, count / elapsed, duplicates)


@contextmanager
def _reader(stage: HotStage, topic: str, offset: int, count: int, skip: int) -> Iterator[Path]:
    """The consumer's process, ready; the file that it prints into."""
    servers = stage.stage.servers
    output, log = servers.directory / "latency.out", servers.directory / "latency.log"
    output.write_text("")
    arguments = [servers.kafka.bootstrap, topic, str(offset), str(count), str(skip)]
    command = [sys.executable, "-m", "tests.bench.latency_reader", *arguments]
    process: Process = spawn(command, log=log, stdout=output)
    try:
        wait_until(lambda: "ready" in output.read_text(), timeout=30, what="the consumer is ready")
        yield output
    except TimeoutError as exc:
        raise SystemExit(f"{exc}: {tail(log)}") from exc
    finally:
        end(process, with_signal=signal.SIGKILL, timeout=30)
