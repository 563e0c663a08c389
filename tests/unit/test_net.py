"""The net that the suite draws after each test catches what was planted: it can fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.net import Net, shows_payloads
from tests.fixtures.planted import PASSWORD, PASSWORDS, PAYLOAD

ROOT = Path(__file__).parents[2]
SPLIT = {word: f"{word[:9]}' '{word[9:]}" for word in (PASSWORD, PAYLOAD)}  # not to be found in the command itself


@pytest.mark.parametrize("secret", [*PASSWORDS, PAYLOAD])
def test_a_secret_in_a_text_is_caught(secret: str) -> None:
    net = Net()
    net.hear(f'{{"reason": "no: {secret}"}}', "the log")
    [leak] = net.draw()
    assert leak.startswith(f"{secret} in the log: ")
    assert net.draw() == []


def test_a_secret_in_a_file_is_caught_also_where_two_looks_meet(tmp_path: Path) -> None:
    net, file = Net(), tmp_path / "stderr"
    file.write_text(f"x{PASSWORD[:9]}")
    net.watch(file)
    assert net.draw() == []
    with file.open("a") as stream:
        stream.write(PASSWORD[9:])
    assert len(net.draw()) == 1


def test_commands_that_show_payloads_may_and_still_no_password() -> None:
    net = Net()
    net.hear(PAYLOAD, "the output", may_show=shows_payloads(["cdc-relay", "dlq", "show"]))
    assert net.draw() == []
    net.hear(PASSWORD, "the output", may_show=True)
    assert len(net.draw()) == 1


def run_inside(tmp_path: Path, test: str) -> tuple[int, str]:
    """A run of pytest with one test in it."""
    (tmp_path / "test_inside.py").write_text(f"import subprocess, sys\n\ndef test_inside():\n    {test}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.fixtures.fix_net", "test_inside.py"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize("word", [PASSWORD, PAYLOAD])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_run_fails_whose_process_leaks(tmp_path: Path, word: str, stream: str) -> None:
    program = f"import cdc_relay, sys; print('{SPLIT[word]}', file=sys.{stream})"
    code, said = run_inside(tmp_path, f"subprocess.run([sys.executable, '-c', {program!r}], capture_output=True)")
    assert code == 1
    assert f"planted secrets were shown:\n{word} in the " in said


def test_a_run_fails_that_prints_a_secret_itself(tmp_path: Path) -> None:
    code, said = run_inside(tmp_path, f"print('{SPLIT[PASSWORD]}')")
    assert (code, "planted secrets were shown" in said) == (1, True)


def test_a_run_that_shows_nothing_passes(tmp_path: Path) -> None:
    program = "import cdc_relay; print('all is well')"
    assert run_inside(tmp_path, f"subprocess.run([sys.executable, '-c', {program!r}], capture_output=True)")[0] == 0
