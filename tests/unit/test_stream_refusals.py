"""Why a stream does not start, by what Postgres answers to START_REPLICATION."""

from __future__ import annotations

import pytest

from cdc_relay.errors import RefusedError, RelayError, SlotInUseError, SourceError
from cdc_relay.sources.line import Line, QueryError
from cdc_relay.sources.slot import start_stream


class RefusingLine:
    server_encoding = "UTF8"

    def __init__(self, exc: Exception) -> None:
        self._exc = exc
        self.is_closed = False

    def require_primary(self) -> None: ...

    def query(self, sql: str) -> None: ...

    def start_copy(self, command: str) -> None:
        raise self._exc

    def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize(
    ("exc", "kind", "message", "remedy"),
    [
        (QueryError("active for PID 4711", "55006"), SlotInUseError, "slot orders is in use", "WHERE pid = 4711"),
        (QueryError("in use", "55006"), SlotInUseError, "slot orders is in use", "SELECT * FROM pg_stat_replication"),
        (QueryError("does not exist", "42704"), RefusedError, "slot orders: does not exist", "cdc-relay setup -c FILE"),
        (QueryError("invalidated", "55000"), RefusedError, "slot orders cannot be read", "wal_status"),
        (QueryError("denied", "42501"), RefusedError, "slot orders: denied", "REPLICATION"),
        (QueryError("internal error", "XX000"), SourceError, "slot orders: internal error", ""),
        (SourceError("the line broke"), SourceError, "the line broke", ""),
    ],
)
def test_a_stream_that_does_not_start_says_why_and_closes_its_line(
    monkeypatch: pytest.MonkeyPatch, exc: Exception, kind: type[RelayError], message: str, remedy: str
) -> None:
    line = RefusingLine(exc)
    monkeypatch.setattr(Line, "open", lambda conninfo: line)
    with pytest.raises(kind) as caught:
        start_stream("", slot="orders", publication="orders", wal_sender_timeout_seconds=60)
    assert caught.value.message.startswith(message)
    assert remedy in caught.value.remedy
    assert line.is_closed
