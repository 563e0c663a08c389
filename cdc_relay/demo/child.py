"""Child processes of the demo: each in a session of its own, so that Ctrl-C in a terminal reaches only the demo.

Owns how a child is started and stopped and where its output goes; knows nothing about what it does.
"""

from __future__ import annotations

import pwd
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from cdc_relay.demo.janitor import Janitor

__all__ = ["Child", "log_tail", "run_to_end"]

_TAIL_LINE_COUNT = 20


class Child:
    """A running process whose output goes to a log file."""

    def __init__(
        self,
        args: Sequence[str],
        *,
        log: Path,
        janitor: Janitor,
        user: pwd.struct_passwd | None = None,
        end_with: signal.Signals = signal.SIGKILL,
    ) -> None:
        """`end_with` is the signal that ends it at once, should the demo be killed."""
        self._janitor = janitor
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                args,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                cwd=None if user is None else "/",  # the present one may be closed to that user
                user=None if user is None else user.pw_uid,
                group=None if user is None else user.pw_gid,
                extra_groups=None if user is None else [],
            )
        janitor.watch(self._process.pid, end_with)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def has_ended_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self, steps: Sequence[tuple[signal.Signals, float]]) -> int:
        """Each step is a signal and the seconds it may take; whatever happens, the process is gone afterwards."""
        try:
            for number, seconds in steps:
                self._process.send_signal(number)
                if self.has_ended_within(seconds):
                    break
        finally:
            self._process.kill()
            exit_code = self._process.wait()
            self._janitor.forget(self.pid)
        return exit_code


def run_to_end(
    args: Sequence[str],
    *,
    log: Path,
    janitor: Janitor,
    timeout_seconds: float,
    user: pwd.struct_passwd | None = None,
) -> int:
    """The exit code; a process that takes too long is killed."""
    child = Child(args, log=log, janitor=janitor, user=user)
    try:
        child.has_ended_within(timeout_seconds)
    finally:
        exit_code = child.stop(())
    return exit_code


def log_tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return "\n".join(f"  | {line}" for line in lines[-_TAIL_LINE_COUNT:])
