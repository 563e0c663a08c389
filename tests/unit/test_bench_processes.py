"""What the benchmark reads of a process."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil  # type: ignore[import-untyped]  # carries no types
import pytest

from tests.bench.processes import cpu_seconds, cpu_seconds_of_server, hold, release, rss_peak_mb
from tests.fixtures.process import wait_until


def test_cpu_time_is_that_of_the_process() -> None:
    before, clock = cpu_seconds(os.getpid()), time.process_time()
    while time.process_time() < clock + 0.1:
        pass
    assert 0.05 < cpu_seconds(os.getpid()) - before < 5


def test_a_server_s_ended_children_still_count() -> None:
    before = cpu_seconds_of_server(os.getpid())
    work = "import time\nwhile time.process_time() < 0.2: pass"
    subprocess.run([sys.executable, "-c", work], check=True, timeout=60)
    assert cpu_seconds_of_server(os.getpid()) - before > 0.15


def test_peak_memory_is_in_megabytes() -> None:
    assert 5 < rss_peak_mb(os.getpid()) < 10_000


def test_a_held_process_stands_still_until_it_is_released() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        hold([child.pid])
        wait_until(lambda: _status(child.pid) == psutil.STATUS_STOPPED, timeout=10, what="it stands still")
        release([child.pid])
        wait_until(lambda: _status(child.pid) != psutil.STATUS_STOPPED, timeout=10, what="it goes on")
    finally:
        child.kill()
        child.wait()


def test_a_process_that_is_gone_is_no_trouble() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    hold([child.pid])
    release([child.pid])


@pytest.mark.parametrize("pid", [0, -1])
def test_nobody_is_signalled_by_an_id_that_means_many(pid: int) -> None:
    for act in (hold, release):
        with pytest.raises(ValueError, match="not the ids of processes"):
            act([pid])


def _status(pid: int) -> str:
    return str(psutil.Process(pid).status())
