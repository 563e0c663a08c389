"""What the relay prints while it runs: one event per line on standard error, JSON for machines, text for people."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import structlog

from cdc_relay.errors import SinkError
from cdc_relay.logs import configure_logs, flush_logs, learn_secrets, say_always, says_debug, shape


@pytest.fixture(autouse=True)
def _restore(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(shape, "_always", {})
    yield
    configure_logs("json", "debug")  # nothing is held back for the end of the run
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


def test_a_json_line_begins_with_time_level_and_event_then_what_every_line_has(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs("json", "info")
    say_always(slot="orders")
    structlog.get_logger().info("state", zebra=1, ant=2)
    [line] = printed(capsys)
    assert list(json.loads(line)) == ["timestamp", "level", "event", "slot", "zebra", "ant"]


def test_every_line_of_every_thread_names_the_slot(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("json", "info")
    say_always(slot="orders")
    thread = threading.Thread(target=lambda: structlog.get_logger().info("state"))
    thread.start()
    thread.join()
    assert json.loads(printed(capsys)[0])["slot"] == "orders"


def test_what_is_not_known_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("json", "info")
    structlog.get_logger().info("state", reason=None, count=0)
    said = json.loads(printed(capsys)[0])
    assert ("reason" in said, said["count"]) == (False, 0)


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_secret_is_hidden_in_either_format(capsys: pytest.CaptureFixture[str], log_format: str) -> None:
    configure_logs(log_format, "info")
    learn_secrets(["planted-in-a-unit-test"])
    structlog.get_logger().warning("state", reason="FATAL: password planted-in-a-unit-test is wrong")
    [line] = printed(capsys)
    assert "FATAL: password *** is wrong" in line


def fail() -> None:
    raise ValueError("invalid literal: 'a value of a row'")


def test_an_exception_is_one_line_with_its_type_and_place_and_without_its_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs("json", "info")
    try:
        fail()
    except ValueError:
        structlog.get_logger().exception("crash")
    [line] = printed(capsys)
    said = json.loads(line)
    assert said["error"] == "ValueError"
    assert re.fullmatch(r"unit/test_logs.py:\d+ < unit/test_logs.py:\d+", said["at"])
    assert "a value of a row" not in line
    assert "exception" not in said


def test_an_error_of_ours_brings_its_text_and_its_cause(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("json", "info")
    try:
        try:
            fail()
        except ValueError as exc:
            raise SinkError("the producer broke") from exc
    except SinkError:
        structlog.get_logger().exception("crash")
    said = json.loads(printed(capsys)[0])
    assert (said["error"], said["reason"]) == ("SinkError from ValueError", "the producer broke")


def test_debug_has_the_frames_and_still_not_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("json", "debug")
    try:
        fail()
    except ValueError:
        structlog.get_logger().exception("crash")
    [line] = printed(capsys)
    assert ", in fail\n" in json.loads(line)["exception"]
    assert json.loads(line)["exception"].endswith("builtins.ValueError")
    assert line.count("a value of a row") == 1  # the line of the source that raises it; a row is in no source


def test_a_flood_is_one_line_and_a_count_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("json", "info")
    for number in range(1000):
        structlog.get_logger().error("outbox_failed", code="no_route", event_id=str(number))
    flush_logs()
    first, last = [json.loads(line) for line in printed(capsys)]
    assert (first["event_id"], "repeated" in first) == ("0", False)
    assert (last["event_id"], last["repeated"]) == ("999", 998)


def test_debug_says_each_one_of_a_flood(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("json", "debug")
    assert says_debug()
    for number in range(100):
        structlog.get_logger().error("outbox_failed", code="no_route", event_id=str(number))
    assert len(printed(capsys)) == 100


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
