"""The demo as a user runs it: the real relay between embedded servers, and nothing left of it afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # carries no types
import pytest

from tests.fixtures.process import Process, end, spawn, wait_until
from tests.fixtures.scratch import remove_scratch, scratch_dir

STOP_SECONDS = 60.0
START_SECONDS = 60.0


@dataclass
class Home:
    """A place for temporary files of its own: whatever the demo leaves behind is in it or names it."""

    path: Path

    @property
    def stdout(self) -> str:
        return (self.path / "stdout").read_text()

    @property
    def stderr(self) -> str:
        return (self.path / "stderr").read_text()

    @property
    def temporary(self) -> Path:
        return self.path / "tmp"

    def start(self, *args: str, **env: str) -> Process:
        command = [sys.executable, "-m", "cdc_relay", "demo", *args]
        environment = {**os.environ, "TMPDIR": str(self.temporary), **env}
        return spawn(command, log=self.path / "stderr", stdout=self.path / "stdout", env=environment)

    def start_live(self) -> Process:
        process = self.start()
        wait_until(lambda: "taking orders\n00:" in self.stdout, timeout=START_SECONDS, what="events are delivered")
        return process

    def processes(self, part: str = "") -> list[psutil.Process]:
        return [process for process in psutil.process_iter() if self._is_ours(_command_line(process), part)]

    def _is_ours(self, command_line: str, part: str) -> bool:
        return str(self.temporary) in command_line and part in command_line

    def assert_nothing_left(self) -> None:
        assert list(self.temporary.iterdir()) == []
        assert self.processes() == []


def _command_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


@pytest.fixture
def home() -> Iterator[Home]:
    path = scratch_dir("demo")
    home = Home(path)
    home.temporary.mkdir()
    yield home
    remove_scratch(path)


def test_events_are_delivered_and_verified(home: Home) -> None:
    assert home.start("--events", "500", "--json").wait(120) == 0
    assert home.stdout.count("\n") == 1
    summary = json.loads(home.stdout)
    assert {name: summary[name] for name in ("committed", "delivered", "missing", "unexpected")} == {
        "committed": 500,
        "delivered": 500,
        "missing": 0,
        "unexpected": 0,
    }
    assert summary["rolled_back"] > 0
    assert 0 < summary["latency_p50_ms"] <= summary["latency_p99_ms"]
    home.assert_nothing_left()


def test_one_event_is_enough(home: Home) -> None:
    assert home.start("--events", "1").wait(120) == 0
    assert "every committed event arrived, and no other" in home.stdout
    home.assert_nothing_left()


def test_settings_of_the_users_own_servers_do_not_matter(home: Home) -> None:
    foreign = {
        "PGHOSTADDR": "192.0.2.1",
        "PGOPTIONS": "-c no.such=1",
        "PGSSLMODE": "require",
        "http_proxy": "192.0.2.1",
    }
    assert home.start("--events", "5", "--json", **foreign).wait(120) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_cleanly(home: Home, number: signal.Signals) -> None:
    process = home.start_live()
    assert end(process, with_signal=number, timeout=STOP_SECONDS) == 0
    assert "every committed event arrived, and no other" in home.stdout
    home.assert_nothing_left()


def test_a_signal_during_the_start_stops_it_cleanly(home: Home) -> None:
    process = home.start()
    wait_until(lambda: bool(home.processes("bin/postgres")), timeout=START_SECONDS, what="Postgres is starting")
    assert end(process, with_signal=signal.SIGINT, timeout=STOP_SECONDS) == 0
    home.assert_nothing_left()


def test_a_signal_before_all_events_exits_with_1(home: Home) -> None:
    process = home.start("--events", "1000000")
    wait_until(lambda: "taking orders\n00:" in home.stdout, timeout=START_SECONDS, what="events are delivered")
    assert end(process, with_signal=signal.SIGTERM, timeout=STOP_SECONDS) == 1
    assert "stopped before all events were delivered" in home.stderr
    home.assert_nothing_left()


@pytest.mark.parametrize(("part", "words"), [("cdc_relay run", "the relay ended"), ("bin/postgres", "Postgres ended")])
def test_a_part_that_dies_ends_the_demo_with_its_log(home: Home, part: str, words: str) -> None:
    process = home.start_live()
    for child in home.processes(part):
        child.kill()
    assert process.wait(STOP_SECONDS) == 1
    assert words in home.stderr
    assert "Its log ends with:\n  | " in home.stderr
    home.assert_nothing_left()


def test_kill_9_leaves_nothing_behind(home: Home) -> None:
    process = home.start_live()
    end(process, with_signal=signal.SIGKILL, timeout=STOP_SECONDS)
    wait_until(lambda: not home.processes(), timeout=STOP_SECONDS, what="no process is left")
    home.assert_nothing_left()


def test_a_terminal_gets_the_live_view_and_ctrl_c_ends_it(home: Home) -> None:
    master, slave = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cdc_relay", "demo"],
        env={**os.environ, "TMPDIR": str(home.temporary), "TERM": "xterm", "COLUMNS": "80", "LINES": "24"},
        preexec_fn=lambda: os.login_tty(slave),  # its controlling terminal, so that ^C becomes SIGINT
    )
    os.close(slave)
    _read_until(master, "OrderPlaced")
    os.write(master, b"\x03")
    assert "every committed event arrived, and no other" in _read_until(master, "verdict")
    assert process.wait(STOP_SECONDS) == 0
    os.close(master)
    home.assert_nothing_left()


def _read_until(terminal: int, words: str) -> str:
    """The test's own time limit ends a terminal that never says them."""
    text = ""
    while words not in text:
        text += os.read(terminal, 65_536).decode(errors="replace")
    return text


def test_a_closed_temporary_directory_is_refused_with_a_remedy(home: Home) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root runs Postgres as another user")
    home.temporary.chmod(0o700)
    assert home.start("--events", "1", "--json").wait(60) == 3
    assert "set TMPDIR" in home.stderr
    assert home.stdout == ""
    home.assert_nothing_left()
