"""The compiled reader of a replication stream against psycopg's own, on a real server."""

from __future__ import annotations

import gc
import time
from pathlib import Path

import psycopg
import pytest

from cdc_relay.errors import RelayError, SourceError
from cdc_relay.native import is_native
from cdc_relay.sources.copy_data import PsycopgCopyData, open_copy_data
from cdc_relay.sources.slot import SlotStream
from tests.fixtures.fix_postgres import Database, MakePostgres
from tests.fixtures.outbox import insert_event, insert_events
from tests.fixtures.process import wait_until
from tests.integration.native_rig import (
    BIG_BYTES,
    KINDS,
    Frame,
    closed,
    make_outbox,
    open_stream,
    read_all,
    read_to_the_end,
)

pytestmark = pytest.mark.skipif(not is_native, reason="cdc_relay.native is not in use")


@pytest.fixture
def twofold(database: Database) -> Database:
    make_outbox(database)
    return database


def messages(found: list[Frame]) -> list[bytes]:
    """Without the headers, which carry the time of sending."""
    return [bytes(frame[25:]) for frame in found]


def read_twice(database: Database, commits: int) -> tuple[list[Frame], list[Frame]]:
    streams = [open_stream(database, kind) for kind in ("python", "native")]
    try:
        first, second = (read_all(stream, commits) for stream in streams)
        return first, second
    finally:
        for stream in streams:
            stream.close()


def test_the_usual_connection_is_read_by_the_compiled_reader(twofold: Database) -> None:
    from cdc_relay.native.copy_data import CopyData

    with twofold.connect() as conn:
        assert isinstance(open_copy_data(conn.pgconn, big_bytes=BIG_BYTES), CopyData)


def test_both_readers_give_the_same_frames_in_the_same_order(twofold: Database) -> None:
    with twofold.connect() as conn:
        for count in (1, 3, 1000, 200):  # more than one batch
            insert_events(conn, count, "order")
    python, native = read_twice(twofold, 4)
    assert messages(native) == messages(python)
    assert {type(frame) for frame in python + native} == {bytes}


def test_a_frame_above_a_mebibyte_is_a_view_that_outlives_its_reader(twofold: Database) -> None:
    with twofold.connect() as conn:
        insert_event(conn, "order", payload='"' + "x" * (3 << 20) + '"')
        insert_event(conn, "order", payload='"' + "y" * 1000 + '"')
    python, native = read_twice(twofold, 2)
    assert messages(native) == messages(python)
    assert [type(frame) for frame in native] == [type(frame) for frame in python]
    gc.collect()
    [big] = [frame for frame in native if isinstance(frame, memoryview)]
    assert big.readonly
    with pytest.raises(TypeError):
        big[0] = 0
    part = big[-3:]
    del native, big
    gc.collect()
    assert bytes(part) == b'xx"'


def test_the_memory_of_views_is_given_back(twofold: Database) -> None:
    """40 frames of 4 MiB, one after the other: kept, they would be 160 MiB."""
    with twofold.connect() as conn:
        for _ in range(40):
            insert_event(conn, "order", payload='"' + "x" * (4 << 20) + '"')
    stream = open_stream(twofold, "native")
    try:
        resident = []
        for _ in range(40):
            read_all(stream, 1)
            resident.append(int(Path("/proc/self/statm").read_text().split()[1]) * 4096)
    finally:
        stream.close()
    assert max(resident[10:]) - max(resident[:10]) < 32 << 20


def test_waiting_with_frames_at_hand_returns_at_once(twofold: Database) -> None:
    with twofold.connect() as conn:
        insert_events(conn, 50, "order")
    stream = open_stream(twofold, "native")
    try:
        read_first(stream)
        assert stream._frames
        before = time.monotonic()
        stream.wait(30)
        assert time.monotonic() - before < 10
    finally:
        stream.close()


def read_first(stream: SlotStream) -> None:
    """Several frames came together, and one of them is read."""
    wait_until(lambda: stream.read() is not None and len(stream._frames) > 10, timeout=30, what="frames come")


@pytest.mark.parametrize("kind", KINDS)
def test_what_came_before_the_server_ended_the_stream_is_given_first(twofold: Database, kind: str) -> None:
    with twofold.connect() as conn:
        insert_events(conn, 300, "order")
    stream = open_stream(twofold, kind)
    try:
        wait_until(lambda: _has_sent_all(twofold), timeout=30, what="all is sent")
        twofold.terminate_walsenders()
        found, error = read_to_the_end(stream)
    finally:
        stream.close()
    assert [message[:1] for message in messages(found)] == [b"B", b"R", *[b"I"] * 300, b"C"]
    assert type(error) is SourceError
    assert str(error) == ("Postgres ended the stream: terminating connection due to administrator command")


def _has_sent_all(database: Database) -> bool:
    [(sent,)] = database.execute(
        "SELECT bool_and(sent_lsn >= pg_current_wal_lsn()) FROM pg_stat_replication JOIN pg_stat_activity USING (pid)"
        " WHERE datname = current_database()"
    )
    return bool(sent)


def test_a_server_that_is_killed_is_the_same_error_for_both(make_postgres: MakePostgres) -> None:
    server = make_postgres()
    database = Database(server)
    make_outbox(database)
    with database.connect() as conn:
        insert_events(conn, 10, "order")
    streams = [open_stream(database, kind) for kind in KINDS]
    read = [len(read_all(stream, 1)) for stream in streams]
    server.kill()
    errors: list[RelayError] = [read_to_the_end(stream)[1] for stream in streams]
    again = [read_to_the_end(stream)[1] for stream in streams]
    for stream in streams:
        stream.close()
    assert read[0] == read[1]
    assert [type(error) for error in [*errors, *again]] == [SourceError] * 4
    assert str(errors[0]) == str(errors[1])


@pytest.mark.parametrize("kind", KINDS)
def test_a_closed_connection_is_an_error_of_ours_each_time(twofold: Database, kind: str) -> None:
    stream = open_stream(twofold, kind)
    stream.close()
    for _ in range(3):
        with pytest.raises(SourceError, match="the replication line broke"):
            stream.read()


def test_a_closed_connection_has_the_same_words_for_both(twofold: Database) -> None:
    told = []
    for reader in (
        PsycopgCopyData(closed(twofold.dsn()), big_bytes=BIG_BYTES),
        open_copy_data(closed(twofold.dsn()), big_bytes=BIG_BYTES),
    ):
        with pytest.raises(psycopg.OperationalError) as caught:
            reader.read()
        told.append(str(caught.value))
    assert told[0] == told[1]


def test_a_connection_that_copies_nothing_has_the_same_words_for_both(twofold: Database) -> None:
    told = []
    for open_kind in KINDS.values():
        with twofold.connect() as conn:
            reader = open_kind(conn.pgconn)
            for _ in range(2):
                with pytest.raises(psycopg.OperationalError) as caught:
                    reader.read()
            told.append(str(caught.value).split("\n")[0])
    assert told[0] == told[1]
