"""The unit for systemd: valid, confined, and with the exit codes of the relay."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from prometheus_client import ProcessCollector

from cdc_relay.errors import ConfigError, RefusedError
from tests.deploy.files import UNIT, unit
from tests.deploy.tools import require

EXPOSURE = "13"  # of 100; 12 when it was written


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The unit with a program that exists: what it names is installed by hand."""
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/cdc-relay/bin/cdc-relay", "/bin/true"))
    return copy


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    program = require("systemd-analyze", "systemd")
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=60)


def test_systemd_takes_it(installed: Path) -> None:
    answer = analyze("verify", "--man=no", installed)
    assert (answer.returncode, answer.stdout + answer.stderr) == (0, "")


def test_the_service_can_do_little(installed: Path) -> None:
    answer = analyze("security", "--offline=true", f"--threshold={EXPOSURE}", installed)
    assert answer.returncode == 0, answer.stdout


def test_the_service_sees_what_the_metrics_of_the_process_are_made_of(tmp_path: Path) -> None:
    """All of them are missing where /proc has no `stat`, which is what ProcSubset=pid does."""
    (tmp_path / "self").symlink_to("/proc/self")
    assert list(ProcessCollector(proc=str(tmp_path), registry=None).collect()) == []
    assert unit()["Service"].get("ProcSubset", ["all"]) == ["all"]


def test_it_is_not_started_again_where_an_operator_has_to_act() -> None:
    settings = unit()["Service"]
    assert settings["Restart"] == ["on-failure"]
    assert set(settings["RestartPreventExitStatus"][0].split()) == {
        str(ConfigError.exit_code),
        str(RefusedError.exit_code),
    }


def test_the_watchdog_is_slower_than_the_signs_of_life() -> None:
    settings = unit()["Service"]
    assert settings["Type"] == ["notify"]
    assert int(settings["WatchdogSec"][0].removesuffix("s")) > 10  # one a second, and a machine may be busy
