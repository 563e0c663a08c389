"""Peers that are a command, run once per drain and timed by its end: Postgres' own reader, and producing from memory.

Both are ceilings: what the walsender delivers to a reader that does nothing, and what is left without reading.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tests.bench.stage import PUBLICATION, Backlog, Stage
from tests.fixtures.process import spawn, tail

__all__ = ["OneShot", "PgRecvlogical", "Produce", "Spent", "warm_broker"]


@dataclass(frozen=True)
class Spent:
    seconds: float
    cpu_seconds: float


@runtime_checkable
class OneShot(Protocol):
    name: str

    def open(self, stage: Stage) -> None: ...
    def close(self) -> None: ...
    def end(self) -> None: ...
    def run(self, backlog: Backlog) -> Spent: ...


class _Command:
    """Nothing of it lives between drains."""

    name = ""

    def __init__(self) -> None:
        self._stage: Stage | None = None

    @property
    def stage(self) -> Stage:
        if self._stage is None:
            raise RuntimeError(f"{self.name} is on no stage")
        return self._stage

    def open(self, stage: Stage) -> None:
        self._stage = stage

    def close(self) -> None:
        return

    def end(self) -> None:
        return

    def _spend(self, command: list[str]) -> tuple[Spent, str]:
        """With what it printed."""
        log = self.stage.servers.directory / f"{self.name}.log"
        output = log.with_suffix(".out")
        output.unlink(missing_ok=True)
        started = time.monotonic()
        process = spawn(command, log=log, stdout=output, env=dict(os.environ))
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{self.name} ended with {process.returncode}:\n{tail(log)}")
        return Spent(seconds, usage.ru_utime + usage.ru_stime), output.read_text()


class PgRecvlogical(_Command):
    name = "pg_recvlogical"

    def open(self, stage: Stage) -> None:
        super().open(stage)
        self._slot = f"{stage.database.name}_recvlogical"
        stage.make_slot(self._slot)

    def run(self, backlog: Backlog) -> Spent:
        program = str(self.stage.servers.postgres.bindir / "pg_recvlogical")
        options = ["-o", "proto_version=1", "-o", f"publication_names={PUBLICATION}", "--endpos", backlog.end_lsn]
        where = ["-d", self.stage.dsn(), "-S", self._slot, "--start", "-f", os.devnull]
        return self._spend([program, *where, *options])[0]


class Produce(_Command):
    """Timed by the process itself, from its first record to the last acknowledgement."""

    name = "produce-only"

    def open(self, stage: Stage) -> None:
        super().open(stage)
        [self._topic, *_] = stage.make_topics(self.name)

    def run(self, backlog: Backlog) -> Spent:
        load = self.stage.workload
        arguments = [self.stage.servers.kafka.bootstrap, self._topic, str(backlog.count), str(load.payload_bytes)]
        command = [sys.executable, "-m", "tests.bench.produce", *arguments, load.compression]
        _, printed = self._spend(command)
        return Spent(*map(float, printed.split()))


def warm_broker(stage: Stage, events: int) -> None:
    """A fresh one costs several times the CPU per event."""
    producer = Produce()
    producer.open(stage)
    producer.run(Backlog(0, events, ""))
