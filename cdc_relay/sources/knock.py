"""Ask a Postgres server whether it takes anybody in, without a connection.

libpq hides the SQLSTATE of a refused connection, its texts follow the server's language, and its own ping keeps the
whole process waiting. A startup packet over a plain socket is answered in any language, also where TLS is required: one
that starts or stops says so before it asks who is there.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from struct import pack, unpack

__all__ = ["CANNOT_CONNECT_NOW", "Place", "knock"]

CANNOT_CONNECT_NOW = "57P03"  # starting up, shutting down, in recovery
_PROTOCOL_3 = 196608
_LIMIT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a connection went, or tried to go."""

    host: str  # a name, an address, or the folder of a Unix socket
    port: int
    user: str
    database: str


def knock(place: Place) -> str | None:
    """The SQLSTATE of the server's refusal; "" when it would talk to us; None when nobody answers in time."""
    try:
        with _connect(place) as line:
            line.settimeout(_LIMIT_SECONDS)
            line.sendall(_startup_packet(place))
            return _read_answer(line)
    except (OSError, ValueError):  # ValueError: a host that no resolver can even be asked for
        return None


def _connect(place: Place) -> socket.socket:
    if not place.host.startswith("/"):
        return socket.create_connection((place.host, place.port), timeout=_LIMIT_SECONDS)
    line = socket.socket(socket.AF_UNIX)
    line.settimeout(_LIMIT_SECONDS)
    line.connect(str(Path(place.host) / f".s.PGSQL.{place.port}"))
    return line


def _startup_packet(place: Place) -> bytes:
    words = ("user", place.user, "database", place.database)
    body = pack(">i", _PROTOCOL_3) + b"".join(word.encode() + b"\0" for word in words) + b"\0"
    return pack(">i", len(body) + 4) + body


def _read_answer(line: socket.socket) -> str | None:
    head = _receive(line, 5)
    if len(head) < 5:
        return None
    kind, size = unpack(">ci", head)
    if kind != b"E":
        return ""
    fields = _receive(line, min(size - 4, 8192)).split(b"\0")
    return next((field[1:].decode("ascii", "replace") for field in fields if field[:1] == b"C"), "")


def _receive(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (chunk := line.recv(size - len(data))):
        data += chunk
    return data
