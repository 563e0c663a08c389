"""The log sink on pipes, files and devices that are slow, full, closed, or were left in the middle of a line."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdc_relay.errors import AwayError, RefusedError
from cdc_relay.sinks import line_output
from cdc_relay.sinks.line_output import LineOutput
from cdc_relay.sinks.log import LogSink
from cdc_relay.sinks.sink import Slip
from tests.contract.sinks import Received, collect, read_line, record, ticket


class Pipe:
    """A sink whose lines somebody reads, or does not."""

    def __init__(self) -> None:
        self.reader, writer = os.pipe()
        self.sink = LogSink(LineOutput(writer))
        os.close(writer)
        self._is_open = True

    def read_until_delivered(self, count: int = 1) -> tuple[list[Slip], bytes]:
        """What is reported while somebody reads, and what is read then."""
        delivered, text = self.sink.poll(0).delivered, b""
        while len(delivered) < count:
            text += os.read(self.reader, 1 << 20)
            delivered += self.sink.poll(0).delivered
        return delivered, text + self._rest()

    def _rest(self) -> bytes:
        return os.read(self.reader, 1 << 20) if select.select([self.reader], [], [], 0)[0] else b""

    def hang_up(self) -> None:
        if self._is_open:
            os.close(self.reader)
        self._is_open = False


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.hang_up()
    pipe.sink.close()


def opened(path: Path | str) -> LogSink:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return LogSink(LineOutput(descriptor))
    finally:
        os.close(descriptor)


def lines(text: bytes) -> list[Received]:
    assert text.endswith(b"\n")
    return [read_line(line)[1] for line in text.splitlines() if line]


# --- a reader that is slow


def test_a_record_is_delivered_only_when_all_of_its_line_was_taken(pipe: Pipe) -> None:
    given, value = ticket(), b"x" * 1_000_000
    pipe.sink.publish(record("t", value=value), given)
    assert pipe.sink.poll(0) == ([], [])
    delivered, text = pipe.read_until_delivered()
    assert delivered == [given]
    assert [each.value for each in lines(text)] == [value]


def test_a_reader_that_does_not_read_keeps_nobody_waiting_longer_than_asked(pipe: Pipe) -> None:
    pipe.sink.publish(record("t", value=bytes(1_000_000)), ticket())
    started = time.monotonic()
    assert pipe.sink.poll(0) == ([], [])
    assert pipe.sink.flush(0.2) == ([], [])
    assert 0.2 <= time.monotonic() - started < 5


def test_a_reader_that_does_not_read_is_complained_of_until_it_does(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cdc_relay.sinks.log._COMPLAIN_SECONDS", 0)
    monkeypatch.setattr(line_output, "_CHECK_SECONDS", 0)
    pipe.sink.publish(record("t", value=bytes(100_000)), ticket())
    for _ in range(2):
        pipe.sink.poll(0)
    assert pipe.sink.error == "nobody reads standard output"
    with pytest.raises(AwayError, match="takes nothing"):
        pipe.sink.probe()
    with pytest.raises(AwayError, match="takes nothing"):
        pipe.sink.probe_topic("t")
    pipe.read_until_delivered()
    assert pipe.sink.error == ""
    pipe.sink.probe()


def test_many_records_through_a_slow_reader_arrive_in_order_and_are_reported_once(pipe: Pipe) -> None:
    tickets = [ticket() for _ in range(3_000)]
    for number, each in enumerate(tickets):
        pipe.sink.publish(record("t", value=b"%d" % number), each)
    delivered, text = pipe.read_until_delivered(len(tickets))
    assert delivered == tickets
    assert [each.value for each in lines(text)] == [b"%d" % number for number in range(3_000)]


@pytest.mark.parametrize("way", ["reset", "empty"])
def test_a_line_that_was_begun_is_finished_though_its_record_is_taken_back(pipe: Pipe, way: str) -> None:
    begun, unsent, after = ticket(), ticket(), ticket()
    pipe.sink.publish(record("t", value=b"x" * 200_000), begun)
    pipe.sink.publish(record("t", value=b"unsent"), unsent)
    assert pipe.sink.poll(0) == ([], [])
    if way == "reset":
        pipe.sink.reset()
    else:
        assert [slip for slip, _ in pipe.sink.empty().purged] == [begun, unsent]
    pipe.sink.publish(record("t", value=b"after"), after)
    delivered, text = pipe.read_until_delivered()
    assert delivered == [after]
    assert [each.value for each in lines(text)] == [b"x" * 200_000, b"after"]


# --- a reader that is gone


def test_a_reader_that_is_gone_is_refused_and_nothing_counts_as_delivered(pipe: Pipe) -> None:
    pipe.hang_up()
    pipe.sink.publish(record("t"), ticket())
    with pytest.raises(RefusedError, match="Broken pipe") as raised:
        pipe.sink.poll(0)
    assert (raised.value.exit_code, ">> records.jsonl" in raised.value.remedy) == (3, True)


def test_a_reader_that_is_gone_fails_the_probes(pipe: Pipe) -> None:
    pipe.hang_up()
    with pytest.raises(RefusedError, match="nobody reads it any more"):
        pipe.sink.probe()
    with pytest.raises(RefusedError, match="nobody reads it any more"):
        pipe.sink.probe_topic("t")


def test_closing_after_the_reader_is_gone_is_quiet(pipe: Pipe) -> None:
    sink = pipe.sink
    sink.publish(record("t", value=bytes(200_000)), ticket())
    sink.poll(0)
    pipe.hang_up()
    sink.reset()
    with pytest.raises(RefusedError):
        sink.poll(0)


def test_standard_output_that_was_closed_at_the_start_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(RefusedError, match="cannot write to standard output: it is closed"):
        line_output.open_stdout()


def test_python_has_no_standard_output_where_the_shell_closed_it() -> None:
    """What the refusal rests on: number 1 may be a connection to Postgres by then."""
    program = "import sys; sys.exit(7 if sys.stdout is None else 0)"
    assert subprocess.run(["sh", "-c", '"$0" -c "$1" >&-', sys.executable, program], check=False).returncode == 7


# --- an output without room


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_is_waited_for_with_the_records_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdc_relay.sinks.log._COMPLAIN_SECONDS", 0)
    sink, given = opened("/dev/full"), ticket()
    sink.publish(record("t"), given)
    started = time.monotonic()
    for _ in range(2):
        assert sink.flush(0.1) == ([], [])
    assert time.monotonic() - started >= 0.2  # it says so at once, and must not be asked a thousand times a second
    assert sink.error == "standard output takes nothing: No space left on device"
    assert [slip for slip, _ in sink.empty().purged] == [given]
    sink.close()


# --- what a killed process left


def test_a_line_that_a_killed_process_left_is_not_continued(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(b'{"topic": "half')
    sink = opened(file)
    sink.reset()  # forgets records, and not where the file stands
    sink.publish(record("t", value=b"next"), ticket())
    assert len(collect(sink, 1).delivered) == 1
    half, line = file.read_bytes().splitlines()
    assert (half, read_line(line)[1].value) == (b'{"topic": "half', b"next")
    sink.close()


@pytest.mark.parametrize("content", [b"", b"{}\n"])
def test_whole_lines_are_left_alone(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "log"
    file.write_bytes(content)
    sink = opened(file)
    sink.poll(0)
    sink.close()
    assert file.read_bytes() == content


def test_a_terminal_is_written_to_without_blocking_it_for_others() -> None:
    terminal, side = os.openpty()
    sink = LogSink(LineOutput(side))
    assert os.get_blocking(side)
    sink.publish(record("t", value=b"shown"), ticket())
    assert len(collect(sink, 1).delivered) == 1
    assert b"shown" in os.read(terminal, 10_000)
    sink.publish(record("t", value=bytes(100_000)), ticket())  # more than it takes unread
    assert sink.flush(0.1) == ([], [])
    sink.close()
    os.close(side)
    os.close(terminal)
