"""A frame that comes in parts: it is read on for as long as bytes come, within limits."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cdc_relay.sources import slot
from cdc_relay.sources.line import Line
from cdc_relay.sources.slot import SlotStream


class SlowServer:
    """Sends one frame in so many parts; plays connection and frames in one."""

    is_over = False

    def __init__(self, theirs: socket.socket, ours: socket.socket, part_count: int) -> None:
        self._theirs, self._ours = theirs, ours
        self.left = part_count
        self.send_part()

    def send_part(self) -> None:
        if self.left:
            self._theirs.send(b".")

    def consume_input(self) -> None:
        with suppress(BlockingIOError):
            self.left -= len(self._ours.recv(1))

    def read(self) -> list[bytes]:
        return [] if self.left else [b"the frame"]


class TlsServer(SlowServer):
    """What it has left is held back by TLS: the socket is empty, and who asks gets it."""

    def send_part(self) -> None: ...

    def consume_input(self) -> None:
        self.left -= 1


class QuickServer(SlowServer):
    """The next part is there as soon as one has been taken in."""

    def consume_input(self) -> None:
        super().consume_input()
        self.send_part()


@pytest.fixture
def sockets() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        yield ours, theirs


def stream_of(server: SlowServer, ours: socket.socket, monkeypatch: pytest.MonkeyPatch) -> SlotStream:
    monkeypatch.setattr(slot, "open_copy_data", lambda pgconn, big_bytes: server)
    line: Any = SimpleNamespace(pgconn=server, fileno=ours.fileno)
    return SlotStream(cast(Line, line))


def test_all_parts_that_are_there_are_one_look(
    sockets: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a nap at the end of each rows of 10 kB came at a quarter of the rate."""
    ours, theirs = sockets
    stream = stream_of(QuickServer(theirs, ours, part_count=20), ours, monkeypatch)
    assert stream.read() == b"the frame"


def test_a_part_that_is_not_there_yet_is_not_waited_for(
    sockets: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = sockets
    server = SlowServer(theirs, ours, part_count=2)
    stream = stream_of(server, ours, monkeypatch)
    assert (stream.read(), stream.is_receiving, server.left) == (None, True, 1)
    assert (stream.read(), stream.is_receiving) == (None, False)
    server.send_part()
    assert stream.read() == b"the frame"


def test_what_tls_holds_back_is_asked_for(
    sockets: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = sockets
    assert stream_of(TlsServer(theirs, ours, part_count=1), ours, monkeypatch).read() == b"the frame"


def test_a_huge_frame_does_not_keep_the_loop(
    sockets: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Postgres must hear from us meanwhile; that more is coming is said."""
    ours, theirs = sockets
    server = QuickServer(theirs, ours, part_count=1000)
    stream = stream_of(server, ours, monkeypatch)
    assert (stream.read(), stream.is_receiving) == (None, True)
    assert server.left > 900
    assert next(frame for frame in iter(stream.read, b"") if frame) == b"the frame"
