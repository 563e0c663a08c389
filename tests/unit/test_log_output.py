"""Where lines go: each stays whole, none waits for itself, and a stream that is gone is nobody's trouble."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
import time

import pytest

from cdc_relay.logs.output import LineOutput
from tests.unit.test_log_stray import said

# A stream during whose first write something else is logged on the same thread, as a collection of garbage may do.
INTERRUPTED = """
import io, structlog
class Bad:
  def __del__(self): raise OSError("too late")
class Stream(io.TextIOWrapper):
  is_first = True
  def write(self, text):
    if self.is_first:
      self.is_first = False
      {interruption}
    return super().write(text)
sys.stderr = Stream(sys.stderr.buffer, line_buffering=True)
start_logs("info", "json")
structlog.get_logger().error("state", reason="first")
"""


@pytest.mark.parametrize(
    ("interruption", "event"),
    [
        ("Bad()", "unraisable"),
        ("warnings.warn('x')", "python_warning"),
        ("logging.getLogger('psycopg').error('x')", "library"),
    ],
)
def test_what_is_logged_inside_a_write_waits_for_nobody(interruption: str, event: str) -> None:
    code, lines = said(INTERRUPTED.format(interruption=interruption))
    assert (code, [line["event"] for line in lines]) == (0, ["state", event])


class Torn(io.StringIO):
    """Lets others in between any two pieces of a text."""

    def write(self, text: str) -> int:
        for start in range(0, len(text), 7):
            super().write(text[start : start + 7])
            time.sleep(0)
        return len(text)


def test_lines_of_many_threads_stay_whole_and_in_their_order() -> None:
    stream = Torn()
    output = LineOutput(stream)

    def shout(name: int) -> None:
        for number in range(200):
            output.say(f"{name} {'x' * 40} {number}")

    threads = [threading.Thread(target=shout, args=[name]) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = stream.getvalue().splitlines()
    for name in range(8):
        own = [line for line in lines if line.startswith(f"{name} ")]
        assert own == [f"{name} {'x' * 40} {number}" for number in range(200)]
    assert len(lines) == 1600


class Gone(io.StringIO):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def flush(self) -> None:
        raise self.error


@pytest.mark.parametrize(
    "error", [BrokenPipeError(), OSError(28, "no space"), ValueError("closed"), RuntimeError("reentrant call")]
)
def test_a_stream_that_fails_is_no_trouble_of_whoever_logs(error: Exception) -> None:
    stream = Gone(error)
    output = LineOutput(stream)
    output.say("lost")
    output.say("next")
    assert stream.getvalue() == "lost\nnext\n"  # the one after a failure is tried too


def test_a_process_whose_stderr_is_closed_works_on_and_logs_nowhere_else() -> None:
    begin = "import sys\nfrom cdc_relay.logs import start_logs\nimport structlog\nstart_logs()\n"
    program = begin + "structlog.get_logger().error('state')\nprint('done')"
    command = ["bash", "-c", 'exec "$0" -c "$1" 2>&-', sys.executable, program]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n")
