"""Writers at a steady rate. Each counts its rows, in their transaction too: after a broken line it knows how far it
came, and a key's numbers have no gap."""

from __future__ import annotations

import time
from typing import Any

import psycopg

from tests.fixtures.history.witness import Witness

__all__ = ["KEYS_PER_WRITER", "SoakWriter", "create_counts"]

KEYS_PER_WRITER = 20
ROWS_PER_TRANSACTION = 10
RECONNECT_SECONDS = 0.1
PADDING = "x" * 150

_INSERT = """
INSERT INTO public.outbox (id, aggregatetype, aggregateid, type, payload)
SELECT gen_random_uuid(), %(type)s, 'w' || %(writer)s || '-' || n %% %(keys)s, 'Ticked',
       jsonb_build_object('w', %(writer)s::int, 'n', n, 'at', (extract(epoch FROM clock_timestamp()) * 1e6)::bigint,
                          'pad', %(padding)s::text)
  FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n ORDER BY n
"""


def create_counts(conn: psycopg.Connection[Any], writer_count: int) -> None:
    conn.execute("CREATE TABLE soak_counts (writer int PRIMARY KEY, n bigint NOT NULL)")
    conn.execute("INSERT INTO soak_counts SELECT n, 0 FROM generate_series(0, %s - 1) AS n", [writer_count])


class SoakWriter(Witness):
    def __init__(self, dsn: str, number: int, *, aggregate_type: str, rows_per_second: float) -> None:
        super().__init__(f"soak writer {number}")
        self.count = 0  # rows that are surely committed
        self.number = number
        self._dsn = dsn
        self._aggregate_type = aggregate_type
        self._pause_seconds = ROWS_PER_TRANSACTION / rows_per_second

    def _work(self) -> None:
        while not self._stopped.is_set():
            try:
                with psycopg.connect(self._dsn, autocommit=True, connect_timeout=10) as conn:
                    self._write(conn)
            except psycopg.OperationalError:
                self._stopped.wait(RECONNECT_SECONDS)  # Postgres is away
        self.count = self._read_count()

    def _write(self, conn: psycopg.Connection[Any]) -> None:
        """What is missed while Postgres is away is not made up for."""
        self.count = self._ask(conn)
        due_at = time.monotonic()
        while not self._stopped.wait(max(0.0, due_at - time.monotonic())):
            self._commit(conn)
            due_at = max(due_at + self._pause_seconds, time.monotonic() - 1.0)

    def _commit(self, conn: psycopg.Connection[Any]) -> None:
        last = self.count + ROWS_PER_TRANSACTION
        values = {"type": self._aggregate_type, "writer": self.number, "keys": KEYS_PER_WRITER, "padding": PADDING}
        with conn.transaction():
            conn.execute("UPDATE soak_counts SET n = %s WHERE writer = %s", [last, self.number])
            conn.execute(_INSERT, {**values, "first": self.count + 1, "last": last})
        self.count = last

    def _read_count(self) -> int:
        with psycopg.connect(self._dsn, autocommit=True) as conn:
            return self._ask(conn)

    def _ask(self, conn: psycopg.Connection[Any]) -> int:
        """Waits for a commit of ours that may still be under way: the row is locked until it is decided."""
        query = "SELECT n FROM soak_counts WHERE writer = %s FOR UPDATE"
        [(count,)] = conn.execute(query, [self.number]).fetchall()
        return int(count)
