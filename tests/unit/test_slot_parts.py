"""A frame that comes in parts: it is read on for as long as bytes come, within limits."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
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


Serve = Callable[[type[SlowServer], int], tuple[SlotStream, SlowServer]]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """serve(kind, part_count) -> a stream, and the server that sends its one frame."""
    ours, theirs = socket.socketpair()

    def make(kind: type[SlowServer], part_count: int) -> tuple[SlotStream, SlowServer]:
        server = kind(theirs, ours, part_count)
        monkeypatch.setattr(slot, "open_copy_data", lambda pgconn, big_bytes: server)
        line: Any = SimpleNamespace(pgconn=server, fileno=ours.fileno)
        return SlotStream(cast(Line, line)), server

    with ours, theirs:
        ours.setblocking(False)
        yield make


def test_all_parts_that_are_there_are_one_look(serve: Serve) -> None:
    """With a nap at the end of each rows of 10 kB came at a quarter of the rate."""
    stream, _ = serve(QuickServer, 20)
    assert stream.read() == b"the frame"


def test_a_part_that_is_not_there_yet_is_not_waited_for(serve: Serve) -> None:
    stream, server = serve(SlowServer, 2)
    assert (stream.read(), stream.is_receiving, server.left) == (None, True, 1)
    assert (stream.read(), stream.is_receiving) == (None, False)
    server.send_part()
    assert stream.read() == b"the frame"


def test_what_tls_holds_back_is_asked_for(serve: Serve) -> None:
    stream, _ = serve(TlsServer, 1)
    assert stream.read() == b"the frame"


def test_a_huge_frame_does_not_keep_the_loop(serve: Serve) -> None:
    """Postgres must hear from us meanwhile; that more is coming is said."""
    stream, server = serve(QuickServer, 1000)
    assert (stream.read(), stream.is_receiving) == (None, True)
    assert server.left > 900
    assert next(frame for frame in iter(stream.read, b"") if frame) == b"the frame"
