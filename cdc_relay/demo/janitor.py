"""Cleans up after a demo that was killed: a small process that outlives it, ends its children and removes its files.

It listens to the demo on a pipe. "<pid> <signal>" names a child and the signal that ends it; "done" means that the demo
has cleaned up by itself. When the pipe closes without "done", the demo is dead, and the janitor does its work.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

__all__ = ["Janitor", "clean_up", "parse"]

_GRACE_SECONDS = 5.0


class Janitor:
    """The demo's end of the pipe."""

    def __init__(self, directory: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        )

    def watch(self, pid: int, end_with: signal.Signals) -> None:
        self._tell(f"{pid} {int(end_with)}")

    def __enter__(self) -> Janitor:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._tell("done")
        self._process.communicate()

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # someone ended the janitor: the demo still cleans up by itself
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()


def parse(lines: Iterable[str]) -> list[tuple[int, int]] | None:
    """The children that are left to end, or None if the demo said that nothing is."""
    children = []
    for line in lines:
        if line.strip() == "done":
            return None
        pid, number = line.split()
        children.append((int(pid), int(number)))
    return children


def clean_up(directory: Path, children: list[tuple[int, int]], *, grace_seconds: float = _GRACE_SECONDS) -> None:
    for pid, number in children:
        _send(pid, number)
    deadline = time.monotonic() + grace_seconds
    while any(_is_alive(pid) for pid, _ in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid, _ in children:
        _send(pid, signal.SIGKILL)
    shutil.rmtree(directory, ignore_errors=True)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def main() -> None:
    children = parse(sys.stdin)
    if children is not None:
        clean_up(Path(sys.argv[1]), children)


if __name__ == "__main__":
    main()
