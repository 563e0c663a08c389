"""Cleans up after a demo that was killed: a small process that outlives it, ends its children and removes its files.

It listens to the demo on a pipe: "watch <pid> <signal>" names a child and the signal that ends it, "forget <pid>" one
that has ended. The pipe closes when the demo is over or dead: the children still watched are ended then, and the
directory is removed if it is still there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
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
        self._tell(f"watch {pid} {int(end_with)}")

    def forget(self, pid: int) -> None:
        """Its number may soon be another process's."""
        self._tell(f"forget {pid}")

    def __enter__(self) -> Janitor:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._process.communicate()  # closes the pipe and waits

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # someone ended the janitor: the demo still cleans up by itself
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()


def parse(lines: Iterable[str]) -> dict[int, int]:
    """The children that are left when the pipe closes: pid -> signal."""
    children: dict[int, int] = {}
    for line in lines:
        match line.split():
            case ["watch", pid, number]:
                children[int(pid)] = int(number)
            case ["forget", pid]:
                children.pop(int(pid), None)
    return children


def clean_up(directory: Path, children: Mapping[int, int], *, grace_seconds: float = _GRACE_SECONDS) -> None:
    for pid, number in children.items():
        _send(pid, number)
    deadline = time.monotonic() + grace_seconds
    while any(map(_is_alive, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in filter(_is_alive, children):
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
    clean_up(Path(sys.argv[1]), parse(sys.stdin))


if __name__ == "__main__":
    main()
