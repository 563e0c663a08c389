"""Whose receive buffer is bounded: that of a line within one machine, and of no other."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator

import pytest

from cdc_relay.sources import receive_buffer
from cdc_relay.sources.receive_buffer import bound_receive_buffer

BOUND = 2 * (128 << 10)  # Linux doubles what it is told, for its own bookkeeping

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="this system does not tell how far a server is")


@pytest.fixture
def line() -> Iterator[socket.socket]:
    """One end of a connection over loopback that has carried something."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as ours:
        theirs, _ = server.accept()
        with theirs:
            theirs.sendall(b"hello")
            assert ours.recv(5) == b"hello"
            yield ours


def size_of(line: socket.socket) -> int:
    return line.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)


def test_a_line_within_the_machine_is_bounded_and_stays_open(
    line: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receive_buffer, "_NEAR_US", 1_000_000)  # on a busy machine, too
    assert bound_receive_buffer(line.fileno())
    assert size_of(line) == BOUND
    assert line.send(b"still there") == 11


def test_a_line_to_a_server_that_is_further_is_left_alone(line: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receive_buffer, "_NEAR_US", -1)
    before = size_of(line)
    assert not bound_receive_buffer(line.fileno())
    assert size_of(line) == before


def test_a_unix_socket_and_one_that_is_gone_are_left_alone() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert not bound_receive_buffer(ours.fileno())
    assert not bound_receive_buffer(ours.fileno())
