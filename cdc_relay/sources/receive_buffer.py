"""How much the kernel takes in for us of a line within one machine, before the server's sends are gathered at its end.

A walsender sends row by row. Where there is room at our end, each send pays for the whole way to us: 12 µs for a
transaction of one row, and that was all the rate there was. Where there is none, they pile up at its own end for half
of that, and come in bulk. Left alone, the kernel makes room for 4 MB and more.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from contextlib import suppress

__all__ = ["bound_receive_buffer"]

# Linux doubles it, and half of that is the window: two of the largest segments that loopback knows. Below two the
# sender waits for more room.
_BYTES = 128 << 10
_NEAR_US = 100  # there and back: what is further waits for a window of so few bytes, and a nap is longer than that
_MIN_RTT = struct.Struct("=148xI")  # of struct tcp_info


def bound_receive_buffer(fileno: int) -> bool:
    """Whether it was done: not where the server is far, or the system does not tell."""
    with suppress(OSError), socket.socket(fileno=os.dup(fileno)) as line:
        if _is_near(line):
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BYTES)
            return True
    return False


def _is_near(line: socket.socket) -> bool:
    if line.family not in (socket.AF_INET, socket.AF_INET6) or sys.platform != "linux":  # others have another struct
        return False
    told = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _MIN_RTT.size)
    return len(told) == _MIN_RTT.size and _MIN_RTT.unpack(told)[0] <= _NEAR_US
