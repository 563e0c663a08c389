"""A test that needs a program is never skipped in CI: it asks by `require`, and tests/run installs what is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.deploy.files import ROOT
from tests.deploy.tools import require

OTHERS = [path for path in Path(__file__).parent.glob("*.py") if path != Path(__file__)]
SOURCES = {path.name: path.read_text() for path in OTHERS}
RUN = (ROOT / "tests" / "run").read_text()


def test_nothing_is_skipped_but_by_the_tools() -> None:
    assert [name for name, text in SOURCES.items() if re.search(r"pytest\.skip\(", text)] == ["tools.py"]


def test_every_program_that_is_required_is_installed_in_ci() -> None:
    asked = {pair for text in SOURCES.values() for pair in re.findall(r'\brequire\("([\w-]+)", "([\w-]+)"\)', text)}
    installed = set(re.findall(r"command -v ([\w-]+) >/dev/null \|\| packages\+=\(([\w-]+)\)", RUN))
    assert len(asked) >= 3
    assert asked - installed == set()


def test_a_program_that_is_missing_in_ci_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="apt-get install of-it"):
        require("no-such-program", "of-it")
