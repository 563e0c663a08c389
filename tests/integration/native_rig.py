"""One outbox behind two slots, and a stream on each: one read in Python, one by the compiled reader."""

from __future__ import annotations

import time
from collections.abc import Callable

import psycopg
from psycopg import pq

from cdc_relay.errors import RelayError
from cdc_relay.sources.copy_data import CopyData, PsycopgCopyData, open_copy_data
from cdc_relay.sources.slot import SlotStream, start_stream
from tests.fixtures.database import Database
from tests.fixtures.outbox import create_outbox, make_slot

__all__ = ["BIG_BYTES", "KINDS", "Frame", "OpenKind", "make_outbox", "open_stream", "read_all", "read_to_the_end"]

BIG_BYTES = 1 << 20
READ_SECONDS = 30.0
PUBLICATION = "twins"

Frame = bytes | memoryview
OpenKind = Callable[[pq.abc.PGconn], CopyData]
KINDS: dict[str, OpenKind] = {
    "python": lambda pgconn: PsycopgCopyData(pgconn, big_bytes=BIG_BYTES),
    "native": lambda pgconn: open_copy_data(pgconn, big_bytes=BIG_BYTES),
}


def make_outbox(database: Database) -> None:
    """Slots `python` and `native`, with the same to tell."""
    with database.connect() as conn:
        create_outbox(conn)
        make_slot(conn, _slot(database, "python"), PUBLICATION)
        conn.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [_slot(database, "native")])


def open_stream(database: Database, kind: str, dsn: str | None = None) -> SlotStream:
    conninfo = dsn or database.dsn(replication="database")
    stream = start_stream(conninfo, slot=_slot(database, kind), publication=PUBLICATION, wal_sender_timeout_seconds=60)
    stream._copy_data = KINDS[kind](stream._pgconn)
    return stream


def read_all(stream: SlotStream, commits: int) -> list[Frame]:
    """The data frames up to the end of so many transactions."""
    found: list[Frame] = []
    deadline = time.monotonic() + READ_SECONDS
    while commits and time.monotonic() < deadline:
        frame = stream.read()
        if frame is None:
            stream.wait(0.1)
        elif frame[0] == ord("w"):
            found.append(frame)
            commits -= frame[25] == ord("C")
    assert not commits
    return found


def read_to_the_end(stream: SlotStream) -> tuple[list[Frame], RelayError]:
    """All that comes before the error, and the error."""
    found: list[Frame] = []
    deadline = time.monotonic() + READ_SECONDS
    while time.monotonic() < deadline:
        try:
            frame = stream.read()
        except RelayError as exc:
            return found, exc
        if frame is None:
            stream.wait(0.05)
        elif frame[0] == ord("w"):
            found.append(frame)
    raise AssertionError("the stream did not end")


def closed(dsn: str) -> pq.abc.PGconn:
    connection = psycopg.connect(dsn)
    pgconn = connection.pgconn
    connection.close()
    return pgconn


def _slot(database: Database, kind: str) -> str:
    return f"{database.name}_{kind}"
