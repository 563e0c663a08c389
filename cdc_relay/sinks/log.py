"""A line of JSON per record on an output. A record is delivered when all of its line was taken, and not before.

An output without room is waited for, with the records open; one whose reader is gone ends the relay.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from cdc_relay.errors import AwayError, RelayError
from cdc_relay.model import Failure, Record
from cdc_relay.sinks.line_output import LineOutput
from cdc_relay.sinks.log_line import write_line
from cdc_relay.sinks.sink import Emptied, Reports, Slip, TopicLimits

__all__ = ["LogSink"]

_BATCH_BYTES = 1 << 16  # so much of the open records is in memory a second time, as lines
_COMPLAIN_SECONDS = 1.0
_NEWLINE = ord("\n")


class LogSink:
    def __init__(self, output: LineOutput) -> None:
        self.error = ""
        self.statistics = ""
        self.fixed_limits: dict[str, TopicLimits] = {}
        self._output = output
        self._waiting: deque[tuple[Slip, Record]] = deque()
        self._batch: list[tuple[Slip, Record]] = []  # whose lines are being written
        self._text = b"\n" if output.is_mid_line else b""  # of these lines
        self._written = 0  # of this text
        self._stuck_since: float | None = None

    def publish(self, record: Record, slip: Slip) -> None:
        self._waiting.append((slip, record))

    def publish_alone(self, record: Record, slip: Slip) -> None:
        self._waiting.append((slip, record))

    def poll(self, timeout_seconds: float) -> Reports:
        deadline = time.monotonic() + timeout_seconds
        delivered: list[Slip] = []
        while self._has_text() and self._write(deadline):
            delivered += [slip for slip, _ in self._batch]
            self._batch, self._text, self._written = [], b"", 0
        return Reports(delivered, [])

    def flush(self, timeout_seconds: float) -> Reports:
        return self.poll(timeout_seconds)

    def empty(self) -> Emptied:
        taken_back = [*self._batch, *self._waiting]
        self.reset()
        return Emptied(Reports([], []), sorted(taken_back, key=lambda each: each[0].position))

    def reset(self) -> None:
        """A line that is half written is finished all the same: nothing else may stand on it."""
        if self._batch:
            self._batch, self._text, self._written = [], self._rest_of_line(), 0
        self._waiting.clear()

    def probe(self) -> None:
        self._output.check()

    def probe_topic(self, topic: str) -> Failure | None:
        self._output.check()
        return None

    def read_limits(self, topics: Sequence[str]) -> dict[str, TopicLimits]:
        return {}

    def close(self) -> None:
        self.reset()
        with suppress(RelayError):
            self._write(time.monotonic())
        self._output.close()

    def _has_text(self) -> bool:
        if not self._text and self._waiting:
            self._text = b"".join(self._take_lines())
        return bool(self._text)

    def _take_lines(self) -> list[bytes]:
        lines: list[bytes] = []
        size = 0
        while self._waiting and size < _BATCH_BYTES:
            self._batch.append(self._waiting.popleft())
            lines.append(write_line(self._batch[-1][1]))
            size += len(lines[-1])
        return lines

    def _rest_of_line(self) -> bytes:
        is_whole = not self._written or self._text[self._written - 1] == _NEWLINE
        return b"" if is_whole else self._text[self._written : self._text.index(b"\n", self._written) + 1]

    def _write(self, deadline: float) -> bool:
        """Whether all of the text was taken until then."""
        text = memoryview(self._text)
        try:
            while self._written < len(text):
                taken = self._output.write(text[self._written :], deadline=deadline)
                if not taken:
                    self._complain("nobody reads standard output")
                    return False
                self._written += taken
                self._stuck_since, self.error = None, ""
        except AwayError as exc:
            self._complain(exc.message)
            time.sleep(max(0.0, deadline - time.monotonic()))  # it said so at once: the caller wanted to wait
            return False
        return True

    def _complain(self, reason: str) -> None:
        """Not of a reader that is slow for a moment."""
        now = time.monotonic()
        if self._stuck_since is None:
            self._stuck_since = now
        elif now - self._stuck_since >= _COMPLAIN_SECONDS:
            self.error = reason
