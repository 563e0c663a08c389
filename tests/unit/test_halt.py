"""A process that tests have halted does nothing more, not even for the moment that a signal takes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.process import Process, end, halt, spawn, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the states of threads in /proc")

BUSY = """
import threading
def run() -> None:
    while True:
        pass
for _ in range(8):
    threading.Thread(target=run).start()
"""


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Process]:
    process = spawn([sys.executable, "-c", BUSY], log=tmp_path / "log")
    try:
        wait_until(lambda: len(states(process)) > 8, timeout=30, what="its threads run")
        yield process
    finally:
        end(process, with_signal=signal.SIGKILL, timeout=30)


def states(process: Process) -> list[str]:
    threads = Path(f"/proc/{process.pid}/task").iterdir()
    return [(thread / "stat").read_text().rpartition(")")[2].split()[0] for thread in threads]


def test_all_threads_stand_still_each_time_and_for_whoever_asks_twice(busy: Process) -> None:
    for _ in range(3):
        halt(busy, timeout=30)
        halt(busy, timeout=30)
        assert set(states(busy)) == {"T"}
        busy.send_signal(signal.SIGCONT)
        wait_until(lambda: "T" not in states(busy), timeout=30, what="it goes on")
    assert busy.poll() is None
