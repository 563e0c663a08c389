"""A process that reads a slot, counts the rows and confirms, and does nothing else: DSN SLOT PUBLICATION FILE NAP_MS.

The count stands in a mapped file, where another process may look at it. With a nap of 0 it reads eagerly; else it
sleeps so long whenever the socket is empty, and the walsender gathers instead of waking it for every row.
"""

from __future__ import annotations

import mmap
import os
import select
import socket
import struct
import sys
import time
from pathlib import Path

from psycopg import pq
from psycopg.pq.abc import PGconn

RECEIVE_BYTES = 64 << 10  # so that the walsender's sends are gathered at its own end
_LSN = struct.Struct("!Q")
_STATUS = struct.Struct("!cQQQqB")
_COUNT = struct.Struct("Q")
_HEADER_BYTES = 25  # of copy data with WAL in it
_INSERT, _COMMIT, _KEEPALIVE = ord("I"), ord("C"), ord("k")


class Reader:
    def __init__(self, conn: PGconn, count_file: Path, nap_seconds: float) -> None:
        self._conn = conn
        self._nap_seconds = nap_seconds
        with count_file.open("r+b") as file:
            self._shown = mmap.mmap(file.fileno(), _COUNT.size)
        self._count = 0
        self._confirmed = self._received = 0
        self._next_status = 0.0

    def run(self) -> None:
        """The loop is flat, and checks the clock only when the socket is empty: it is a ceiling."""
        read, count = self._conn.get_copy_data, 0
        while True:
            size, data = read(1)
            if size > 0:
                kind = data[_HEADER_BYTES] if data[0] != _KEEPALIVE else _KEEPALIVE
                if kind == _INSERT:
                    count += 1
                elif kind == _COMMIT:
                    [self._received] = _LSN.unpack_from(data, _HEADER_BYTES + 10)
                elif kind == _KEEPALIVE and data[17]:
                    self._next_status = 0.0
            elif size == 0:
                self._count = count
                self._wait()
            else:
                raise SystemExit("the stream ended")

    def _wait(self) -> None:
        _COUNT.pack_into(self._shown, 0, self._count)
        if (now := time.monotonic()) > self._next_status:
            self._confirm(now)
        if not self._nap_seconds:
            select.select([self._conn.socket], [], [], 0.2)
        elif not select.select([self._conn.socket], [], [], 0)[0]:
            time.sleep(self._nap_seconds)
        self._conn.consume_input()

    def _confirm(self, now: float) -> None:
        self._next_status = now + 1.0
        self._conn.put_copy_data(_STATUS.pack(b"r", self._received, self._received, self._received, 0, 0))
        self._conn.flush()


def main(dsn: str, slot: str, publication: str, count_file: str, nap_ms: str) -> None:
    conn = pq.PGconn.connect(f"{dsn} replication=database".encode())
    with socket.socket(fileno=os.dup(conn.socket)) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
    options = f"proto_version '1', publication_names '{publication}'"
    result = conn.exec_(f"START_REPLICATION SLOT {slot} LOGICAL 0/0 ({options})".encode())
    if result.status != pq.ExecStatus.COPY_BOTH:
        raise SystemExit(conn.get_error_message())
    Reader(conn, Path(count_file), float(nap_ms) / 1000).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
