"""What a process costs, read from /proc, and how it is held: CPU seconds, peak memory, SIGSTOP. Linux only.

Starts and ends nothing.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # carries no types

__all__ = ["cpu_seconds", "cpu_seconds_of_server", "hold", "release", "rss_peak_mb"]

_TICKS = os.sysconf("SC_CLK_TCK")
_USER, _SYSTEM, _CHILDREN_USER, _CHILDREN_SYSTEM = 11, 12, 13, 14  # of /proc/PID/stat, counted behind the name


def cpu_seconds(pid: int) -> float:
    """Of all its threads, without its children."""
    fields = _stat(pid)
    return (fields[_USER] + fields[_SYSTEM]) / _TICKS


def cpu_seconds_of_server(pid: int) -> float:
    """With its children, also those that have ended: a postmaster and its backends."""
    own = _stat(pid)
    total = sum(own[_USER : _CHILDREN_SYSTEM + 1])
    for child in psutil.Process(pid).children():
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = _stat(child.pid)
            total += fields[_USER] + fields[_SYSTEM]
    return total / _TICKS


def rss_peak_mb(pid: int) -> float:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found.group(1)) * 1024 / 1e6 if found else 0.0


def hold(pids: Iterable[int]) -> None:
    _signal(pids, signal.SIGSTOP)


def release(pids: Iterable[int]) -> None:
    _signal(pids, signal.SIGCONT)


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    known = list(pids)
    if any(pid <= 0 for pid in known):  # 0 is our own group, -1 everybody
        raise ValueError(f"not the ids of processes: {known}")
    for pid in known:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _stat(pid: int) -> list[int]:
    """The numbers behind the state; the name before it may hold anything, so look for its last bracket."""
    text = Path(f"/proc/{pid}/stat").read_text()
    return [0, *map(int, text[text.rindex(")") + 4 :].split())]
