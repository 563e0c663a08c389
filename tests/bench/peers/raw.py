"""The raw reader as a peer: the ceiling of what reading alone can do in Python, eager or with naps."""

from __future__ import annotations

import mmap
import os
import signal
import struct
import sys

from tests.bench.peers.peer import StreamingPeer
from tests.bench.stage import PUBLICATION, Stage
from tests.fixtures.process import Process, end, spawn, tail

__all__ = ["RawReader"]

_COUNT = struct.Struct("Q")


class RawReader(StreamingPeer):
    publishes = False

    def __init__(self, name: str, *, nap_ms: float) -> None:
        super().__init__()
        self.name = name
        self._nap_ms = nap_ms
        self._process: Process | None = None
        self._shown: mmap.mmap | None = None

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError(f"{self.name} is not running")
        return self._process.pid

    def open(self, stage: Stage) -> None:
        self._stage = stage
        stage.make_slot(self.slot)
        directory = stage.servers.directory
        file = directory / f"{self.slot}.count"
        file.write_bytes(bytes(_COUNT.size))
        with file.open("rb") as opened:
            self._shown = mmap.mmap(opened.fileno(), _COUNT.size, access=mmap.ACCESS_READ)
        arguments = [stage.dsn(), self.slot, PUBLICATION, str(file), str(self._nap_ms)]
        command = [sys.executable, "-m", "tests.bench.peers.raw_reader", *arguments]
        self._process = spawn(command, log=directory / f"{self.slot}.log", env=dict(os.environ))
        self._wait_for_walsender()

    def count(self) -> int:
        return 0 if self._shown is None else int(_COUNT.unpack_from(self._shown, 0)[0])

    def complaint(self) -> str:
        return tail(self.stage.servers.directory / f"{self.slot}.log")

    def close(self) -> None:
        self.release_walsender()
        self.end()

    def end(self) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            end(process, with_signal=signal.SIGKILL, timeout=30)
