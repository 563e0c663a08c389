"""pytest plugin of the broken runs: writes down how each test ended, one JSON object per line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

__all__ = ["RECORD_VARIABLE"]

RECORD_VARIABLE = "BREAKAGE_RECORD"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A teardown that fails says nothing of the promise; what fails before the call may be the promise's own."""
    if report.when == "teardown" or (report.when == "setup" and report.passed):
        return
    entry = {"test": report.nodeid, "outcome": report.outcome, "reason": _reason(report)}
    with Path(os.environ[RECORD_VARIABLE]).open("a") as record:
        record.write(json.dumps(entry) + "\n")


def _reason(report: pytest.TestReport) -> str:
    """The first line of what the test complained of."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr or "")
    return str(text).strip().partition("\n")[0]
