"""`cdc-relay status --watch`: a live view on a terminal, lines elsewhere, and an end with Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.fix_relay import Pipeline

pytestmark = pytest.mark.kafka

LIMIT_SECONDS = 90
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
LEFT_SCREEN = "\x1b[?1049l"


def watch_command(config_file: Path, *arguments: str) -> list[str]:
    line = [sys.executable, "-u", "-m", "cdc_relay", "status", "-c", str(config_file), "--watch", "--interval", "0.5"]
    return [*line, *arguments]


def watch_on_a_terminal(config_file: Path, is_enough: Callable[[str], bool], *, end: signal.Signals) -> str:
    """All that a terminal got until it was enough and the command was ended."""
    outer, inner = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    with subprocess.Popen(watch_command(config_file), stdin=inner, stdout=inner, stderr=inner, env=env) as process:
        os.close(inner)
        shown = read_until(outer, is_enough)
        process.send_signal(end)
        shown += read_until(outer, lambda text: False)
        assert process.wait(LIMIT_SECONDS) == 0, shown
    os.close(outer)
    return shown


def read_until(terminal: int, is_enough: Callable[[str], bool]) -> str:
    """Or until the other end is closed."""
    shown, deadline = b"", time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux' way to say that the other end is closed
            break
        shown += part
        if not part or is_enough(shown.decode(errors="replace")):
            break
    return shown.decode(errors="replace")


def screens(shown: str) -> list[str]:
    """One text per look."""
    return [ESCAPE.sub("", part) for part in shown.split("is anything wrong?")[1:]]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_the_live_view_has_verdict_figures_and_sparklines_and_gives_the_screen_back(
    pipeline: Pipeline, end: signal.Signals
) -> None:
    relay = pipeline.start_relay()
    shown = watch_on_a_terminal(relay.config_file, lambda text: len(screens(text)) > 4, end=end)
    seen = screens(shown)
    assert len(seen) > 4
    for part in ("all is well", f"slot {pipeline.slot}", "streaming for", "every 0.5 s (Ctrl-C: end)"):
        assert part in seen[2]
    assert re.search(r"lag +[\d,]+ K?i?B +[▁▂▃▄▅▆▇█]{3}", seen[2])
    assert re.search(r"parked +0 +▁{3}", seen[2])
    assert LEFT_SCREEN in shown
    assert "Traceback" not in shown


def test_the_live_view_goes_on_when_the_relay_ends(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay()

    def has_seen_the_end(text: str) -> bool:
        if len(screens(text)) == 2 and relay.is_running:
            relay.kill()
        return "not read by anybody" in screens(text)[-1] if screens(text) else False

    shown = watch_on_a_terminal(relay.config_file, has_seen_the_end, end=signal.SIGINT)
    assert "all is well" in shown
    assert "start the relay: cdc-relay run -c" in ESCAPE.sub("", shown)


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_without_a_terminal_each_look_is_a_line(pipeline: Pipeline, as_json: bool) -> None:
    relay = pipeline.start_relay()
    command = watch_command(relay.config_file, *(["--json"] if as_json else []))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_SECONDS) == 0
    if as_json:
        assert [json.loads(line)["relay"]["state"] for line in lines] == ["streaming"] * 3
    else:
        assert all("  streaming  rate " in line and line.endswith("all is well\n") for line in lines)
