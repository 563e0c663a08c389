"""The check beside the stream: once, only warnings, and nobody waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from cdc_relay.admin.check import check
from cdc_relay.admin.check.beside import CheckBeside
from cdc_relay.admin.check.finding import Finding, fail, ok, warn
from cdc_relay.config import RelayConfig
from cdc_relay.logs.shape import tell_error
from cdc_relay.sources.remedy import sql, words
from cdc_relay.stop import Stop

CONFIG = RelayConfig.model_validate(
    {
        "source": {"dsn": "host=db", "slot": "s", "publication": "p"},
        "sink": "none",
        "outboxes": [{"table": "outbox"}],
    }
)
Look = Callable[[RelayConfig], Iterator[list[Finding]]]


def run_with(look: Look, monkeypatch: pytest.MonkeyPatch, stop: Stop | None = None) -> list[Any]:
    monkeypatch.setattr(check, "check_beside_stream", look)
    beside = CheckBeside(CONFIG, stop or Stop(), pause_seconds=0)
    with capture_logs() as logs:
        beside.begin()
        beside.begin()
        wait_for_it()
    return list(logs)


def wait_for_it() -> None:
    for thread in threading.enumerate():
        if thread.name == "cdc-relay-check":
            assert thread.daemon
            thread.join(30)


def test_what_is_not_ok_is_logged_once_each_with_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(config: RelayConfig) -> Iterator[list[Finding]]:
        yield [ok("postgres.version", "18"), warn("lot.dead", "2 records", sql("SELECT 1"), words("decide"))]
        yield [fail("kafka.topic", "orders does not exist")]

    logs = run_with(look, monkeypatch)
    assert [(each["log_level"], each["event"], each["name"]) for each in logs] == [
        ("warning", "check", "lot.dead"),
        ("warning", "check", "kafka.topic"),
    ]
    assert logs[0]["fix"] == "SELECT 1; decide"
    assert logs[0]["stake"].startswith("their events reach no consumer")


def test_a_check_that_breaks_is_only_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(config: RelayConfig) -> Iterator[list[Finding]]:
        raise KeyError("something new")
        yield []

    [said] = run_with(look, monkeypatch)
    assert (said["log_level"], said["event"]) == ("warning", "check_ended_early")


def test_a_check_that_breaks_is_said_by_type_and_place_and_without_the_values_it_quotes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def look(config: RelayConfig) -> Iterator[list[Finding]]:
        raise KeyError("a value of a row")
        yield []

    [said] = run_with(look, monkeypatch)
    line = tell_error(None, "warning", said)
    assert line["error"] == "KeyError"
    assert line["at"].startswith("unit/test_check_beside.py:")
    assert "a value of a row" not in repr(line)


def test_after_a_stop_nothing_more_is_looked_at_or_said(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Stop()

    def look(config: RelayConfig) -> Iterator[list[Finding]]:
        stop.request()
        yield [fail("kafka.topic", "orders does not exist")]
        raise AssertionError("it looked on")

    assert run_with(look, monkeypatch, stop) == []


def test_nobody_waits_for_a_check_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()

    def look(config: RelayConfig) -> Iterator[list[Finding]]:
        is_over.wait(60)
        yield []

    monkeypatch.setattr(check, "check_beside_stream", look)
    CheckBeside(CONFIG, Stop(), pause_seconds=0).begin()
    assert not is_over.is_set()  # begin() came back
    is_over.set()
    wait_for_it()
