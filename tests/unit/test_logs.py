"""What the relay prints while it runs: one event per line on standard error, JSON for machines, text for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import structlog

from cdc_relay.cli.run import configure_logs


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    said = capsys.readouterr()
    assert said.out == ""  # standard output belongs to the commands that print results
    return said.err.splitlines()


def test_a_json_line_has_event_level_time_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("json", "info")
    structlog.get_logger().warning("state", state="holding", reason='broker "b" away\nsince noon')
    [line] = printed(capsys)
    said = json.loads(line)
    assert abs((datetime.fromisoformat(said.pop("timestamp")) - datetime.now(UTC)).total_seconds()) < 60
    assert said == {"event": "state", "level": "warning", "state": "holding", "reason": 'broker "b" away\nsince noon'}


def test_a_console_line_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("console", "info")
    structlog.get_logger().info("state", state="streaming")
    [line] = printed(capsys)
    assert "state=streaming" in line
    assert "\x1b" not in line  # no colours where nobody sees them


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_the_level_hides_what_is_below_it(capsys: pytest.CaptureFixture[str], level: str, expected: list[str]) -> None:
    configure_logs("json", level)
    log = structlog.get_logger()
    for each in ("debug", "info", "warning", "error"):
        getattr(log, each)("x")
    assert [json.loads(line)["level"] for line in printed(capsys)] == expected
