"""A relay under systemd, as the socket of systemd hears it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.fix_relay import MakeRelay, Pipeline
from tests.fixtures.process import wait_until

pytestmark = pytest.mark.kafka


class Manager:
    def __init__(self, address: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(address))
        self._socket.settimeout(0.1)
        self.lines: list[str] = []

    def wait_for(self, line: str) -> None:
        wait_until(lambda: self._has(line), timeout=60, what=f"systemd hears {line}")

    def _has(self, line: str) -> bool:
        try:
            self.lines += self._socket.recv(4096).decode().split("\n")
        except TimeoutError:
            return line in self.lines
        return line in self.lines

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    manager = Manager(tmp_path / "notify")
    yield manager
    manager.close()


def test_ready_alive_and_stopping_are_heard_in_this_order(
    pipeline: Pipeline, make_relay: MakeRelay, manager: Manager, tmp_path: Path
) -> None:
    relay = make_relay(pipeline.config(), env={"NOTIFY_SOCKET": str(tmp_path / "notify")})
    manager.wait_for("READY=1")
    manager.wait_for("STATUS=streaming")
    manager.wait_for("WATCHDOG=1")
    relay.terminate()
    manager.wait_for("STOPPING=1")
    assert relay.wait() == 0
    assert manager.lines.index("READY=1") < manager.lines.index("STOPPING=1")
    assert manager.lines.count("READY=1") == 1
