"""Our decoder on transactions that a real server streams before they are committed."""

from __future__ import annotations

import pytest

from cdc_relay.protocol.messages import (
    Commit,
    Delete,
    Insert,
    LogicalMessage,
    Message,
    Origin,
    StreamAbort,
    StreamCommit,
    StreamStart,
    StreamStop,
    Truncate,
    Update,
)
from tests.contract.slot_reading import is_end, mark_end, only, read_all, reading, replicated_from
from tests.fixtures.database import Database

pytestmark = pytest.mark.core

ROW_COUNT = 1_000  # of 200 bytes: several times the 64 kB after which a transaction is streamed


@pytest.fixture
def slots(database: Database) -> list[str]:
    """Two slots over the same content, and a publication of everything."""
    names = [f"{database.name}_{letter}" for letter in "ab"]
    database.execute("CREATE PUBLICATION everything FOR ALL TABLES")
    for name in names:
        database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [name])
    return names


FILL = "INSERT INTO t SELECT i, repeat('x', 200) FROM generate_series(%s::int, %s::int - 1) i"


def test_streamed_transaction_has_the_rows_of_a_whole_one(database: Database, slots: list[str]) -> None:
    database.execute("CREATE TYPE mood AS ENUM ('calm')")
    database.execute("CREATE TABLE t (id int PRIMARY KEY, s text, m mood DEFAULT 'calm')")
    with database.connect(autocommit=False) as conn:
        [(xid,)] = conn.execute("SELECT txid_current()")
        conn.execute(FILL, [0, ROW_COUNT])
        conn.execute("SELECT pg_logical_emit_message(true, 'inside', 'x')")
        conn.execute("UPDATE t SET s = NULL WHERE id < 5")
        conn.execute("DELETE FROM t WHERE id < 5")
        conn.execute("TRUNCATE t")
        conn.execute(FILL, [0, ROW_COUNT])
    streamed = read_all(database, slots[0], version=2)
    whole = read_all(database, slots[1])
    assert len(only(streamed, StreamStop)) == len(only(streamed, StreamStart)) > 1
    assert [start.first_segment for start in only(streamed, StreamStart)].count(True) == 1
    assert without_blocks(streamed, xid=xid % 2**32) == [message for message in whole if isinstance(message, Change)]
    [commit] = only(streamed, StreamCommit)
    assert commit == (xid % 2**32, *only(whole, Commit)[-1])


Change = Insert | Update | Delete | Truncate | LogicalMessage


def without_blocks(messages: list[Message], *, xid: int) -> list[Change]:
    """The changes of a streamed transaction as protocol 1 would tell them."""
    changes = [message for message in messages if isinstance(message, Change)]
    assert {change.xid for change in changes if not is_end(change)} == {xid}
    return [change._replace(xid=None) for change in changes]


def test_rollback_of_what_was_streamed_is_told(database: Database, slots: list[str]) -> None:
    """Read while the transaction is open: a server that knows of the rollback does not even stream it."""
    database.execute("CREATE TABLE t (id int PRIMARY KEY, s text)")
    with reading(database, slot=slots[0], version=2) as reader, database.connect(autocommit=False) as conn:
        [(xid,)] = conn.execute("SELECT txid_current()")
        conn.execute("SAVEPOINT s")
        conn.execute(FILL, [0, ROW_COUNT])
        mark_end(database)
        streamed = reader.read_until(is_end)
        [subxid] = {insert.xid for insert in only(streamed, Insert)}
        conn.execute("ROLLBACK TO s")
        conn.execute(FILL, [0, ROW_COUNT])
        mark_end(database)
        part = reader.read_until(is_end)
        conn.rollback()
        mark_end(database)
        rest = reader.read_until(is_end)
    top = xid % 2**32
    assert only(streamed, StreamAbort) == []
    assert only(part, StreamAbort) == [StreamAbort(top, subxid or 0)]
    assert only(rest, StreamAbort)[-1] == StreamAbort(top, top)
    assert only(streamed + part + rest, StreamCommit) == []


def test_origin_within_a_streamed_transaction(database: Database, slots: list[str]) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY, s text)")
    with replicated_from(database, "north", lsn="0/ABC") as conn:
        conn.execute(FILL, [0, ROW_COUNT])
    messages = read_all(database, slots[0], version=2)
    assert only(messages, StreamStart)
    assert {origin.name for origin in only(messages, Origin)} == {f"north_{database.name}"}
