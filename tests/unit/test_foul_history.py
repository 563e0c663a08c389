"""What the oracle finds is written down, so that tests/run gives it no second try, as it does what only failed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.fix_history import FOUL_HISTORIES
from tests.fixtures.history import FoulHistoryError, History, raise_if_lost

ROOT = Path(__file__).parents[2]
TESTS = """
from tests.fixtures.history import FoulHistoryError

def test_lost():
    raise FoulHistoryError("lost: 1")

def test_late():
    assert False
"""


def test_what_the_oracle_finds_is_no_ordinary_failure() -> None:
    history = History()
    history.committed("a1", "a", 1)
    with pytest.raises(FoulHistoryError):
        history.report().assert_clean()


def history_beyond(confirmed_lsn: int) -> History:
    """Of an event that was committed at 10 and never came."""
    history = History()
    history.committed("a1", "a", 1, upper_lsn=10)
    history.sampled(confirmed_lsn, 1.0)
    return history


def test_what_the_slot_has_passed_and_nobody_has_is_lost_and_not_late() -> None:
    with pytest.raises(FoulHistoryError, match="1 events that nobody has"):
        raise_if_lost(history_beyond(10), lambda: ["b1"])


def nobody_answers() -> list[str]:
    raise TimeoutError


@pytest.mark.parametrize(
    ("confirmed_lsn", "find_ids"),
    [
        pytest.param(9, list, id="the slot waits for it"),
        pytest.param(10, lambda: ["a1"], id="on the topic, or in the lot"),
        pytest.param(10, nobody_answers, id="nobody can tell"),
    ],
)
def test_what_may_still_come_is_late(confirmed_lsn: int, find_ids: Callable[[], list[str]]) -> None:
    raise_if_lost(history_beyond(confirmed_lsn), find_ids)


def test_a_test_that_the_oracle_fails_is_noted(tmp_path: Path) -> None:
    (tmp_path / "test_planted.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.fixtures.fix_history", "--rootdir", str(tmp_path)]
    done = subprocess.run(
        [*command, "-c", os.devnull, str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "2 failed" in done.stdout, done.stdout + done.stderr
    [noted] = (tmp_path / FOUL_HISTORIES).read_text().splitlines()
    assert noted.endswith("::test_lost")
