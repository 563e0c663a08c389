"""Our decoder against real servers: compared with what Postgres itself prints, and with another decoder."""

from __future__ import annotations

import random
import time

import pytest

from cdc_relay.protocol.lsn import parse_lsn
from cdc_relay.protocol.messages import (
    UNCHANGED,
    Begin,
    Column,
    Commit,
    Delete,
    Insert,
    LogicalMessage,
    Message,
    Origin,
    Relation,
    Row,
    Truncate,
    Type,
    Update,
)
from tests.contract.other_decoder import as_events, read_events
from tests.contract.slot_reading import only, read_all, reading, replicated_from
from tests.fixtures.database import Database

pytestmark = pytest.mark.core


@pytest.fixture
def slots(database: Database) -> list[str]:
    """Two slots over the same content, and a publication of everything."""
    names = [f"{database.name}_{letter}" for letter in "ab"]
    database.execute("CREATE PUBLICATION everything FOR ALL TABLES")
    for name in names:
        database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [name])
    return names


def test_values_are_what_postgres_prints(database: Database, slots: list[str]) -> None:
    database.execute(
        "CREATE TABLE t (id bigint PRIMARY KEY, b boolean, n numeric, f float8, s text, c char(5), j jsonb, r json,"
        " u uuid, d date, z timestamptz, i interval, y bytea, a int[], e text[], x xid8, p point)"
    )
    database.execute("INSERT INTO t (id) VALUES (-9223372036854775808)")
    database.execute(
        "INSERT INTO t VALUES (9223372036854775807, true, 12345678901234567890.1234567, 0.1, E'ö\\t\\n\\\\ \U0001f600',"
        """ 'ab', '{"a": 1e400, "k": [null]}', '{"b" :1,  "a":2}', gen_random_uuid(), 'infinity', now(), '1 day 2 s',"""
        """ '\\x00ff', '{1,NULL}', '{"a,b",""}', '7', '(1,2)'), (0, false, 'NaN', '-Infinity', '', '', 'null', '""',"""
        " gen_random_uuid(), '0044-03-15 BC', '-infinity', '-1 mon', '', '{}', NULL, '0', '(0,-0)')"
    )
    messages = read_all(database, slots[0])
    columns = [column.name for column in only(messages, Relation)[0].columns]
    printed = ", ".join(f"CASE WHEN {name} IS NOT NULL THEN format('%s', {name}) END" for name in columns)
    expected = database.execute(f"SELECT {printed} FROM t ORDER BY id")
    decoded = sorted((as_text(insert.row) for insert in only(messages, Insert)), key=lambda row: int(row[0] or 0))
    assert decoded == expected


def as_text(row: Row) -> tuple[str | None, ...]:
    assert UNCHANGED not in row
    return tuple(value.decode() if isinstance(value, bytes) else None for value in row)


def test_transaction_is_framed_by_its_lsn_time_and_xid(database: Database, slots: list[str]) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    before_us = time.time_ns() // 1_000
    with database.connect(autocommit=False) as conn:
        [(xid, before)] = conn.execute("INSERT INTO t VALUES (1) RETURNING txid_current(), pg_current_wal_lsn()::text")
    [(after,)] = database.execute("SELECT pg_current_wal_lsn()::text")
    begin, *_, commit = read_until_commit(database, slots[0])
    assert isinstance(begin, Begin)
    assert isinstance(commit, Commit)
    assert begin.xid == xid % 2**32
    assert parse_lsn(before) <= begin.final_lsn == commit.commit_lsn < commit.end_lsn <= parse_lsn(after)
    assert before_us <= begin.commit_time_us == commit.commit_time_us <= time.time_ns() // 1_000


def read_until_commit(database: Database, slot: str) -> list[Message]:
    with reading(database, slot=slot) as reader:
        return reader.read_until(lambda message: isinstance(message, Commit))


def test_relation_and_type_describe_the_table(database: Database, slots: list[str]) -> None:
    database.execute("CREATE TYPE mood AS ENUM ('calm')")
    database.execute('CREATE TABLE "Bestellung.ö" (id bigint, "Mood" mood, note varchar(64), PRIMARY KEY (id))')
    database.execute("""INSERT INTO "Bestellung.ö" VALUES (1, 'calm', 'x')""")
    messages = read_all(database, slots[0])
    [(type_oid, table_oid)] = database.execute("""SELECT 'mood'::regtype::oid, '"Bestellung.ö"'::regclass::oid""")
    columns = (Column("id", 20, -1, True), Column("Mood", type_oid, -1, False), Column("note", 1043, 68, False))
    assert only(messages, Type) == [Type(type_oid, "public", "mood")]
    assert only(messages, Relation) == [Relation(table_oid, "public", "Bestellung.ö", "d", columns)]
    assert only(messages, Insert) == [Insert(table_oid, (b"1", b"calm", b"x"))]


def test_update_marks_untouched_toast_and_sends_the_old_key_or_row(database: Database, slots: list[str]) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY, n int, big text)")
    database.execute("ALTER TABLE t ALTER big SET STORAGE EXTERNAL")
    database.execute("INSERT INTO t VALUES (1, 1, repeat('x', 10000))")
    database.execute("UPDATE t SET n = 2")
    database.execute("UPDATE t SET id = 3, big = NULL")
    database.execute("ALTER TABLE t REPLICA IDENTITY FULL")
    database.execute("UPDATE t SET n = NULL")
    messages = read_all(database, slots[0])
    assert [insert.row for insert in only(messages, Insert)] == [(b"1", b"1", b"x" * 10_000)]
    assert [update[1:] for update in only(messages, Update)] == [
        (None, None, (b"1", b"2", UNCHANGED), None),
        ("K", (b"1", None, None), (b"3", b"2", None), None),
        ("O", (b"3", b"2", None), (b"3", None, None), None),
    ]
    assert [relation.replica_identity for relation in only(messages, Relation)] == ["d", "f"]


def test_delete_sends_the_key_or_the_whole_row(database: Database, slots: list[str]) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY, s text)")
    database.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    database.execute("DELETE FROM t WHERE id = 1")
    database.execute("ALTER TABLE t REPLICA IDENTITY FULL")
    database.execute("DELETE FROM t WHERE id = 2")
    deletes = only(read_all(database, slots[0]), Delete)
    assert [delete[1:] for delete in deletes] == [("K", (b"1", None), None), ("O", (b"2", b"b"), None)]


def test_truncate_names_its_tables_and_options(database: Database, slots: list[str]) -> None:
    for name in "ab":
        database.execute(f"CREATE TABLE {name} (id int PRIMARY KEY)")
    database.execute("TRUNCATE a, b RESTART IDENTITY CASCADE")
    database.execute("TRUNCATE a")
    [(a, b)] = database.execute("SELECT 'a'::regclass::oid, 'b'::regclass::oid")
    both, one = only(read_all(database, slots[0]), Truncate)
    assert (set(both.relation_ids), both.cascade, both.restart_identity) == ({a, b}, True, True)
    assert one == Truncate((a,), False, False)


def test_logical_messages_pass_as_bytes(database: Database, slots: list[str]) -> None:
    [(inside,)] = database.execute("SELECT pg_logical_emit_message(true, 'outbox', '\\x00ff'::bytea)::text")
    [(outside,)] = database.execute("SELECT pg_logical_emit_message(false, 'ö', '{}')::text")
    messages = only(read_all(database, slots[0]), LogicalMessage)[:-1]
    assert sorted(messages) == [
        (False, parse_lsn(outside), "ö", b"{}", None),
        (True, parse_lsn(inside), "outbox", b"\x00\xff", None),
    ]


def test_origin_of_a_replicated_transaction(database: Database, slots: list[str]) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    with replicated_from(database, "north", lsn="0/ABC") as conn:
        conn.execute("INSERT INTO t VALUES (1)")
    messages = read_all(database, slots[0])
    assert only(messages, Origin) == [Origin(0xABC, f"north_{database.name}")]


def test_same_events_as_another_decoder(database: Database, slots: list[str]) -> None:
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, big bigint, small smallint, flag boolean, s text, v varchar, u uuid)"
    )
    database.execute("ALTER TABLE t REPLICA IDENTITY FULL")
    write_at_random(database, random.Random(4711))
    ours = as_events(read_all(database, slots[0]))
    assert read_events(database, slots[1], len(ours)) == ours


def write_at_random(database: Database, rng: random.Random) -> None:
    texts = [
        "",
        "plain",
        "ö\U0001f600",
        "tab\tline\nback\\slash 'quote' \"double\"",
        "{1,2}",
        "null",
        "x" * 3_000,
        None,
    ]
    with database.connect(autocommit=False) as conn:
        for number in range(300):
            values = (
                rng.choice([None, rng.randint(-(2**63), 2**63 - 1)]),
                rng.choice([None, rng.randint(-(2**15), 2**15 - 1)]),
            )
            row = (*values, rng.choice([None, True, False]), rng.choice(texts), rng.choice(texts))
            conn.execute("INSERT INTO t VALUES (%s, %s, %s, %s, %s, %s, gen_random_uuid())", [number, *row])
            victim = rng.randint(0, number)
            if rng.random() < 0.3:
                conn.execute("UPDATE t SET s = %s, flag = NOT flag WHERE id = %s", [rng.choice(texts), victim])
            if rng.random() < 0.2:
                conn.execute("DELETE FROM t WHERE id = %s", [victim])
            if rng.random() < 0.2:
                conn.commit()
