"""What would reach stderr past the logger is one line of it: crashes, warnings, lines of libraries."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

BEGIN = """
import logging, sys, threading, warnings
from cdc_relay.logs import learn_secrets, start_logs
start_logs({level!r}, "json")
learn_secrets(["planted-password-1"])
"""


def said(program: str, *, level: str = "info") -> tuple[int, list[dict[str, Any]]]:
    """Exit code and lines of a process; nothing that is no line."""
    command = [sys.executable, "-c", BEGIN.format(level=level) + program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == ""
    return done.returncode, [json.loads(line) for line in done.stderr.splitlines()]


def test_a_crash_is_one_line_and_still_a_failure() -> None:
    code, [line] = said("raise KeyError('a value of a row')")
    assert (code, line["event"], line["level"], line["error"]) == (1, "crash", "critical", "KeyError")
    assert "a value of a row" not in json.dumps(line)


def test_a_crash_has_its_frames_at_debug() -> None:
    _, [line] = said("def sink(): raise KeyError('row')\nsink()", level="debug")
    assert ", in sink" in line["exception"]


def test_the_frames_of_a_crash_show_no_secret() -> None:
    program = "def connect(password): raise OSError(f'refused: {password}')\nconnect('planted-' + 'password-1')"
    _, [line] = said(program, level="debug")
    assert ", in connect" in line["exception"]
    assert line["reason"] == "refused: ***"
    assert "planted-password-1" not in json.dumps(line)


def test_a_thread_that_dies_is_one_line_with_its_name() -> None:
    program = "thread = threading.Thread(target=lambda: 1 / 0, name='helper'); thread.start(); thread.join()"
    code, [line] = said(program)
    assert (code, line["event"], line["thread"], line["error"]) == (0, "thread_crash", "helper", "ZeroDivisionError")


def test_an_exception_that_nobody_can_raise_is_one_line() -> None:
    program = "class Bad:\n  def __del__(self): raise OSError('too late')\nBad()"
    _, [line] = said(program)
    assert (line["event"], line["error"], line["reason"]) == ("unraisable", "OSError", "too late")


def test_a_warning_of_python_is_one_line() -> None:
    _, [line] = said("warnings.warn('old: planted-password-1', UserWarning)")
    assert (line["event"], line["category"], line["reason"]) == ("python_warning", "UserWarning", "old: ***")


@pytest.mark.parametrize(("level", "expected"), [("info", ["warning"]), ("debug", ["debug", "warning"])])
def test_lines_of_libraries_keep_their_level(level: str, expected: list[str]) -> None:
    program = "log = logging.getLogger('psycopg'); log.debug('x %s', 1); log.warning('x')"
    _, lines = said(program, level=level)
    assert [line["level"] for line in lines] == expected
    assert {(line["event"], line["library"]) for line in lines} == {("library", "psycopg")}


def test_a_level_that_only_a_library_knows_is_said_as_the_next_lower_one() -> None:
    program = "log = logging.getLogger('l')\nlog.setLevel(1)\nfor each in (5, 15, 25, 39, 60): log.log(each, 'x')"
    _, lines = said(program, level="debug")
    assert [line["level"] for line in lines] == ["debug", "debug", "info", "warning", "critical"]


def test_a_line_that_cannot_be_formatted_is_said_as_far_as_it_can_be_and_raises_nothing() -> None:
    bad = "class Bad:\n  def __str__(self): raise KeyError('a value of a row')\n"
    program = "log = logging.getLogger('l'); log.error('%d rows', 'a value of a row'); log.error(Bad())"
    code, lines = said(bad + program)
    assert (code, [line["reason"] for line in lines]) == (0, ["%d rows", "Bad"])
    assert "a value of a row" not in json.dumps(lines)


def test_librdkafka_speaks_through_the_logger() -> None:
    program = """
import time
from cdc_relay.sinks.producers import build_producer, producer_properties
properties = {"bootstrap.servers": "127.0.0.1:1", "log_level": "6", "sasl.password": "planted-password-1"}
producer = build_producer(producer_properties(properties), fail=print, on_error=lambda error: None)
until = time.monotonic() + 30
while time.monotonic() < until and not producer.poll(0.1):
    if logging.getLogger().handlers[0].count:
        break
"""
    counting = "handler = logging.getLogger().handlers[0]\nhandler.count = 0\nemit = handler.emit\n"
    counting += "def count(record):\n  handler.count += 1\n  emit(record)\nhandler.emit = count\n"
    _, lines = said(counting + program)
    assert {(line["event"], line["library"]) for line in lines} == {("library", "librdkafka")}
    assert any("127.0.0.1:1" in line["reason"] for line in lines)


def test_a_client_that_only_asks_prints_nothing_by_itself() -> None:
    """Its log would be served by nobody."""
    program = """
from concurrent.futures import wait
from cdc_relay.sinks.producers import producer_properties
from cdc_relay.sinks.topic_limits import LimitsReader
import cdc_relay.sinks.topic_limits as module
module._SECONDS = 1.0
properties = {"bootstrap.servers": "127.0.0.1:1", "log_level": "7", "debug": "all"}
assert LimitsReader(producer_properties(properties)).read(["t"]) == {}
"""
    assert said(program) == (0, [])


def test_a_crash_of_a_command_that_prints_is_no_traceback_and_has_no_values() -> None:
    program = """
import cdc_relay.cli as cli
def fail(**kwargs): raise KeyError("a value of a row")
cli.cli.main = fail
sys.excepthook = sys.__excepthook__
cli.main()
"""
    command = [sys.executable, "-c", "import sys" + program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("cdc-relay: KeyError, at ")
    assert "what to do: " in done.stderr
    assert ("Traceback" in done.stderr, "a value of a row" in done.stderr) == (False, False)


def test_the_last_words_of_a_command_are_redacted() -> None:
    program = """
import cdc_relay.cli as cli
from cdc_relay.errors import RefusedError
from cdc_relay.logs import learn_secrets
learn_secrets(["planted-password-1"])
def fail(**kwargs): raise RefusedError("no: host=db password=other-1 planted-password-1", remedy="x planted-password-1")
cli.cli.main = fail
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (3, "cdc-relay: no: host=db password=*** ***\n  what to do: x ***\n")


def test_a_thread_or_a_finalizer_that_ends_without_an_error_says_nothing() -> None:
    program = """
import threading
threading.excepthook(threading.ExceptHookArgs((SystemExit, None, None, None)))
class Unraisable: exc_type = exc_value = exc_traceback = err_msg = object = None
sys.unraisablehook(Unraisable)
"""
    assert said(program) == (0, [])
