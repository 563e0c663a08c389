"""The kernel takes in little of the stream, so that the walsender gathers: on the connection as it really is."""

from __future__ import annotations

import os
import socket
import sys

import psutil  # type: ignore[import-untyped]  # carries no types
import pytest

from cdc_relay.sources import receive_buffer
from tests.fixtures.database import Database
from tests.integration.native_rig import make_outbox, open_stream

BOUND = 2 * (128 << 10)  # Linux doubles what it is told


@pytest.mark.skipif(sys.platform != "linux", reason="this system does not tell how far a server is")
def test_the_stream_of_a_server_on_this_machine_is_bounded(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receive_buffer, "_NEAR_US", 1_000_000)  # on a busy machine, too
    make_outbox(database)
    stream = open_stream(database, "python")
    try:
        assert receive_bytes_of_lines_to(stream.place.port) == [BOUND]
    finally:
        stream.close()


def receive_bytes_of_lines_to(port: int) -> list[int]:
    found = []
    for line in psutil.Process().net_connections("tcp"):
        if line.raddr and line.raddr.port == port:
            with socket.socket(fileno=os.dup(line.fd)) as ours:
                found.append(ours.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF))
    return found
