"""What systemd hears, on a real datagram socket."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdc_relay.http.health import TURN_LIMIT_SECONDS
from cdc_relay.stats import State, Stats
from cdc_relay.stop import Stop
from cdc_relay.systemd import Systemd


class Manager:
    """The end of the socket that systemd would have."""

    def __init__(self, address: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(address)
        self._socket.setblocking(False)

    def heard(self) -> list[str]:
        try:
            return self._socket.recv(4096).decode().split("\n")
        except BlockingIOError:
            return []

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    manager = Manager(str(tmp_path / "notify"))
    yield manager
    manager.close()


@pytest.fixture
def stats() -> Stats:
    return Stats(slot="orders")


@pytest.fixture
def stop() -> Stop:
    return Stop()


@pytest.fixture
def systemd(tmp_path: Path, manager: Manager, stats: Stats, stop: Stop) -> Systemd:
    return Systemd({"NOTIFY_SOCKET": str(tmp_path / "notify")}, stats=stats, stop=stop)


def tell(systemd: Systemd, manager: Manager, now: float | None = None) -> list[str]:
    systemd.tell(time.monotonic() if now is None else now)
    return manager.heard()


@pytest.mark.parametrize("state", [State.STREAMING, State.STANDBY])
def test_ready_is_said_once_when_it_streams_or_stands_by(
    systemd: Systemd, manager: Manager, stats: Stats, state: State
) -> None:
    stats.enter(state)
    assert "READY=1" in tell(systemd, manager)
    assert "READY=1" not in tell(systemd, manager)


def test_a_start_that_waits_asks_for_more_time(systemd: Systemd, manager: Manager, stats: Stats) -> None:
    stats.enter(State.WAITING, "the broker does not answer")
    heard = tell(systemd, manager)
    assert "READY=1" not in heard
    assert "EXTEND_TIMEOUT_USEC=30000000" in heard
    assert "STATUS=waiting: the broker does not answer" in heard


def test_once_ready_no_more_time_is_asked_for(systemd: Systemd, manager: Manager, stats: Stats) -> None:
    stats.enter(State.STREAMING)
    tell(systemd, manager)
    stats.enter(State.WAITING, "the line broke")
    assert tell(systemd, manager) == ["STATUS=waiting: the line broke", "WATCHDOG=1"]


def test_the_watchdog_is_fed_while_the_loop_turns(systemd: Systemd, manager: Manager, stats: Stats) -> None:
    assert "WATCHDOG=1" in tell(systemd, manager)
    heard = tell(systemd, manager, now=stats.last_turn_at + TURN_LIMIT_SECONDS)
    assert "WATCHDOG=1" not in heard
    assert [line for line in heard if line.startswith("STATUS=starting: the loop has not turned")]


def test_a_status_is_said_once_and_on_one_line(systemd: Systemd, manager: Manager, stats: Stats) -> None:
    stats.enter(State.STREAMING, "one\nREADY=0")
    assert "STATUS=streaming: one READY=0" in tell(systemd, manager)
    assert not [line for line in tell(systemd, manager) if line.startswith("STATUS")]


def test_stopping_is_said(systemd: Systemd, manager: Manager, stop: Stop) -> None:
    stop.request()
    assert "STOPPING=1" in tell(systemd, manager)


def test_an_abstract_socket_works_too(stats: Stats, stop: Stop, tmp_path: Path) -> None:
    name = str(tmp_path / "abstract")
    manager = Manager("\0" + name)
    try:
        systemd = Systemd({"NOTIFY_SOCKET": "@" + name}, stats=stats, stop=stop)
        assert "WATCHDOG=1" in tell(systemd, manager)
    finally:
        manager.close()


def test_what_nobody_heard_is_said_again(stats: Stats, stop: Stop, tmp_path: Path) -> None:
    systemd = Systemd({"NOTIFY_SOCKET": str(tmp_path / "late")}, stats=stats, stop=stop)
    stats.enter(State.STREAMING)
    systemd.tell(time.monotonic())  # nobody listens yet, and that is no reason to fail
    manager = Manager(str(tmp_path / "late"))
    try:
        heard = tell(systemd, manager)
        assert ("READY=1" in heard, "STATUS=streaming" in heard) == (True, True)
        assert "READY=1" not in tell(systemd, manager)
    finally:
        manager.close()


def test_a_reason_that_is_no_text_does_not_silence_the_watchdog(
    systemd: Systemd, manager: Manager, stats: Stats
) -> None:
    stats.enter(State.WAITING, "no such file: /etc/\udcff")
    assert "WATCHDOG=1" in tell(systemd, manager)


def test_a_secret_is_not_in_the_status(systemd: Systemd, manager: Manager, stats: Stats) -> None:
    stats.enter(State.WAITING, "cannot connect with password=hunter2hunter2")
    assert "hunter2" not in "".join(tell(systemd, manager))


def test_without_systemd_no_thread_is_made(stats: Stats, stop: Stop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threading.Thread", None)
    Systemd({}, stats=stats, stop=stop).begin()
