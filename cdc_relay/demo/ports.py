"""Free TCP ports on the loopback address."""

from __future__ import annotations

import random
import socket

__all__ = ["free_port"]

# Below the range from which the kernel serves clients: a client that knocks until its server is up can then neither
# take the server's port nor connect to itself.
_FIRST_PORT, _LAST_PORT = 15_000, 31_999


def free_port() -> int:
    while True:
        port = random.randint(_FIRST_PORT, _LAST_PORT)
        if _is_free(port):
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
