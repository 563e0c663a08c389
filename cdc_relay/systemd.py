"""What systemd hears of the process: ready, still starting, alive, its state, stopping. Silent under anything else.

Speaks sd_notify's protocol: lines in a datagram to the socket that NOTIFY_SOCKET names. A thread of its own looks at
`Stats` by the rules of the probes, so a loop that is stuck is not called alive.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Mapping

from cdc_relay.http.health import Health, judge_live, judge_ready, take_snapshot
from cdc_relay.logs import redact
from cdc_relay.stats import State, Stats
from cdc_relay.stop import Stop

__all__ = ["Systemd"]

_READY = "READY=1"
_PAUSE_SECONDS = 1.0
_PATIENCE_SECONDS = 30  # what a start that still waits for a server is given more, each time


class Systemd:
    """`environment` is os.environ; without NOTIFY_SOCKET nothing is done."""

    def __init__(self, environment: Mapping[str, str], *, stats: Stats, stop: Stop) -> None:
        self._address = _address(environment.get("NOTIFY_SOCKET", ""))
        self._stats = stats
        self._stop = stop
        self._has_been_ready = False
        self._told = ""
        self._ended = threading.Event()

    def begin(self) -> None:
        if self._address:
            threading.Thread(target=self._watch, name="cdc-relay-systemd", daemon=True).start()

    def close(self) -> None:
        """No more signs of life: what ends now must not look alive for ever."""
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.is_set():
            self.tell(time.monotonic())
            # Once the stop is requested its socket is readable for good: a clock must do.
            if self._stop.requested:
                self._ended.wait(_PAUSE_SECONDS)
            else:
                select.select([self._stop], [], [], _PAUSE_SECONDS)

    def tell(self, now: float) -> None:
        """Once a second: one datagram with all that there is to say."""
        seen = take_snapshot(self._stats)
        live, ready = judge_live(seen, now), judge_ready(seen, now)
        status = _status(live if not live.ok else ready)
        lines = [*self._progress(ready), *([] if status == self._told else [status])]
        if live.ok:
            lines.append("WATCHDOG=1")
        if lines and self._send(lines):  # what was not heard is said again
            self._told = status
            self._has_been_ready = self._has_been_ready or _READY in lines

    def _progress(self, ready: Health) -> list[str]:
        if self._stop.requested or ready.snapshot.state is State.STOPPING:
            return ["STOPPING=1"]
        if self._has_been_ready:
            return []
        # A server that is away is waited for: no reason to be killed.
        return [_READY] if ready.ok else [f"EXTEND_TIMEOUT_USEC={_PATIENCE_SECONDS * 1_000_000}"]

    def _send(self, lines: list[str]) -> bool:
        """False: a systemd that does not listen is no reason to stop."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
                line.settimeout(_PAUSE_SECONDS)
                line.sendto("\n".join(lines).encode("utf-8", "replace"), self._address)
        except OSError:
            return False
        return True


def _status(health: Health) -> str:
    """On one line: a line break would begin another variable."""
    state = health.snapshot.state.value
    said = f"{state}: {health.reason}" if health.reason else state
    return f"STATUS={' '.join(redact(said).split())}"


def _address(name: str) -> str:
    """A leading @ stands for the NUL of an abstract socket."""
    return "\0" + name[1:] if name.startswith("@") else name
