"""What a consumer gets: values as Postgres prints them, the same for every role; nothing but the outbox's inserts."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, Message

from tests.fixtures.consume import wait_for_records
from tests.fixtures.fix_relay import MakePipeline, Pipeline
from tests.fixtures.process import wait_until

pytestmark = pytest.mark.kafka


def insert(pipeline: Pipeline, key: str | None, payload: object) -> None:
    pipeline.database.execute(
        f"INSERT INTO {pipeline.table} (id, aggregatetype, aggregateid, type, payload) VALUES (%s, %s, %s, 'T', %s)",
        [uuid.uuid4(), pipeline.aggregate_type, key, payload],
    )


def deliver(pipeline: Pipeline, key: str | None, payload: object) -> Message:
    """The record of one row."""
    insert(pipeline, key, payload)
    pipeline.start_relay()
    [record] = pipeline.wait_for_records(1)
    return record


# --- settings of others (promise 14)

# type -> (a literal, its printed form with the session pinned)
PRINTED = {
    "timestamptz": ("'2026-01-02 03:04:05.678901+05:30'", b"2026-01-01 21:34:05.678901+00"),
    "date": ("'2026-01-02'", b"2026-01-02"),
    "interval": ("'1 day 2 hours 3 minutes'", b"1 day 02:03:00"),
    "float8": ("0.1::float8 + 0.2::float8", b"0.30000000000000004"),
    "bytea": (r"'\x00ff5c'", b"\x00\xff\x5c"),
    "text": ("'Grüße, 世界'", "Grüße, 世界".encode()),
}
CONTRARY = {
    "datestyle": "SQL, DMY",
    "timezone": "Asia/Tokyo",
    "intervalstyle": "iso_8601",
    "extra_float_digits": "-10",
    "bytea_output": "escape",
    "client_encoding": "LATIN1",
}


@pytest.fixture
def typed(pipeline: Pipeline) -> Pipeline:
    """With one outbox per type, each with one row."""
    execute = pipeline.database.execute
    for name, (literal, _) in PRINTED.items():
        execute(f"CREATE TABLE outbox_{name} (id int, aggregatetype text, aggregateid text, type text, payload {name})")
        execute(f"ALTER PUBLICATION {pipeline.publication} ADD TABLE outbox_{name}")
        execute(f"INSERT INTO outbox_{name} VALUES (1, '{pipeline.aggregate_type}', '{name}', 'T', {literal})")
    return pipeline


def values_by_type(pipeline: Pipeline, dsn: str) -> dict[str, bytes | None]:
    outboxes = [{"table": f"public.outbox_{name}"} for name in PRINTED]
    pipeline.start_relay(dsn=dsn, outboxes=outboxes)
    records = pipeline.wait_for_records(len(PRINTED))
    return {(record.key() or b"").decode(): record.value() for record in records}


@pytest.mark.core
def test_what_the_role_prefers_does_not_change_a_value(typed: Pipeline) -> None:
    for name, value in CONTRARY.items():
        typed.database.execute(f"ALTER ROLE {typed.role} SET {name} = '{value}'")
    assert values_by_type(typed, typed.dsn()) == {name: printed for name, (_, printed) in PRINTED.items()}


@pytest.mark.core
def test_what_the_database_prefers_does_not_change_a_value(typed: Pipeline) -> None:
    for name, value in CONTRARY.items():
        typed.database.execute(f"ALTER DATABASE {typed.database.name} SET {name} = '{value}'")
    assert values_by_type(typed, typed.dsn()) == {name: printed for name, (_, printed) in PRINTED.items()}


@pytest.mark.core
def test_what_the_dsn_asks_for_does_not_change_a_value(typed: Pipeline) -> None:
    options = " ".join(f"-c {name}={value.replace(' ', '')}" for name, value in CONTRARY.items())
    dsn = typed.dsn(options=options, client_encoding="LATIN1")
    assert values_by_type(typed, dsn) == {name: printed for name, (_, printed) in PRINTED.items()}


def test_a_table_is_found_by_any_name_whatever_the_encoding_that_the_role_prefers(make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline(table='public."Bestellungen für 世界"')
    pipeline.database.execute(f"ALTER ROLE {pipeline.role} SET client_encoding = 'LATIN1'")
    pipeline.start_relay()
    pipeline.insert()
    assert len(pipeline.wait_for_records(1)) == 1


# --- values


@pytest.mark.core
def test_numbers_in_jsonb_come_exactly_as_postgres_prints_them(pipeline: Pipeline) -> None:
    payload = '{"integer": 123456789012345678901234567890, "scale": 1.10, "tiny": 1e-30, "double": 0.1}'
    record = deliver(pipeline, "k", payload)
    assert record.value() == (
        b'{"tiny": 0.000000000000000000000000000001, "scale": 1.10, "double": 0.1,'
        b' "integer": 123456789012345678901234567890}'
    )


def test_a_numeric_payload_comes_exactly_as_postgres_prints_it(make_pipeline: MakePipeline) -> None:
    record = deliver(make_pipeline(payload_type="numeric"), "k", "98765432109876543210.0123456789000")
    assert record.value() == b"98765432109876543210.0123456789000"


def test_json_keeps_its_own_spelling(make_pipeline: MakePipeline) -> None:
    spelling = '{ "b":1,\n "a" : [ 1.0 , 2e3 ], "b": "\\u00fc" }'
    record = deliver(make_pipeline(payload_type="json"), "k", spelling)
    assert record.value() == spelling.encode()


def test_a_bytea_payload_comes_as_its_bytes(make_pipeline: MakePipeline) -> None:
    every_byte = bytes(range(256))
    assert deliver(make_pipeline(payload_type="bytea"), "k", every_byte).value() == every_byte


def test_an_empty_bytea_is_an_empty_value_and_not_a_null(make_pipeline: MakePipeline) -> None:
    assert deliver(make_pipeline(payload_type="bytea"), "k", b"").value() == b""


def test_a_null_key_is_a_null_key(pipeline: Pipeline) -> None:
    assert deliver(pipeline, None, "{}").key() is None


@pytest.mark.core
def test_a_null_payload_is_a_null_value(pipeline: Pipeline) -> None:
    assert deliver(pipeline, "k", None).value() is None


def test_an_empty_text_is_an_empty_value_and_not_a_null(make_pipeline: MakePipeline) -> None:
    record = deliver(make_pipeline(payload_type="text"), "", "")
    assert (record.key(), record.value()) == (b"", b"")


def test_text_of_every_script_comes_as_utf8(make_pipeline: MakePipeline) -> None:
    key, text = "Schlüssel-鍵-🗝", "Ω≈ç√ \t\r\n\\ \"quoted\" 'single' 🇪🇺 \u200f عربى \x01"
    record = deliver(make_pipeline(payload_type="text"), key, text)
    assert (record.key(), record.value()) == (key.encode(), text.encode())


def test_a_payload_of_many_kilobytes_comes_whole(pipeline: Pipeline) -> None:
    payload = json.dumps({"pad": uuid.uuid4().hex * 20_000})  # 640 kB that do not compress to nothing
    assert deliver(pipeline, "k", payload).value() == payload.encode()


def test_a_record_has_the_rows_id_as_its_only_header_and_the_time_of_the_commit(pipeline: Pipeline) -> None:
    with pipeline.database.connect() as conn:
        now_ms = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
        [(before,)] = conn.execute(now_ms).fetchall()
        event_id = pipeline.insert("k1")
        [(after,)] = conn.execute(now_ms).fetchall()
    pipeline.start_relay()
    [record] = pipeline.wait_for_records(1)
    kind, timestamp_ms = record.timestamp()
    assert (record.key(), record.headers(), kind) == (b"k1", [("id", event_id.encode())], TIMESTAMP_CREATE_TIME)
    assert before - 1 <= timestamp_ms <= after


def test_a_quoted_table_name_with_a_dot_is_found(make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline(table='public."Order.Outbox"')
    assert deliver(pipeline, "k", '{"a": 1}').value() == b'{"a": 1}'


@pytest.mark.core
def test_columns_that_move_while_streaming_are_found_again(pipeline: Pipeline) -> None:
    pipeline.start_relay()
    insert(pipeline, "before", '{"n": 1}')
    pipeline.wait_for_records(1)
    pipeline.database.execute(
        "ALTER TABLE outbox DROP COLUMN aggregateid, ADD COLUMN noise text DEFAULT 'x', ADD COLUMN aggregateid text"
    )
    insert(pipeline, "after", '{"n": 2}')
    records = pipeline.wait_for_records(2)
    assert {record.key(): record.value() for record in records} == {b"before": b'{"n": 1}', b"after": b'{"n": 2}'}


# --- what is no insert of a configured outbox


def remake(pipeline: Pipeline, publication: str) -> None:
    """Another publication under the same name, and a slot that is younger than it."""
    execute = pipeline.database.execute
    execute("SELECT pg_drop_replication_slot(%s)", [pipeline.slot])
    execute(f"DROP PUBLICATION {pipeline.publication}")
    execute(f"CREATE PUBLICATION {pipeline.publication} {publication}")
    execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [pipeline.slot])


def current_lsn(pipeline: Pipeline) -> int:
    [(lsn,)] = pipeline.database.execute("SELECT pg_current_wal_insert_lsn() - '0/0'")
    return int(lsn)


@pytest.fixture
def crowded(pipeline: Pipeline) -> Pipeline:
    """A publication of all tables, and a table that is no outbox though it looks like one."""
    remake(pipeline, "FOR ALL TABLES")
    pipeline.database.execute("CREATE SCHEMA other")
    pipeline.database.execute("CREATE TABLE other.outbox (LIKE public.outbox)")
    return pipeline


def insert_elsewhere(pipeline: Pipeline, count: int) -> None:
    pipeline.database.execute(
        "INSERT INTO other.outbox SELECT gen_random_uuid(), %s, 'k', 'T', '{}' FROM generate_series(1, %s)",
        [pipeline.aggregate_type, count],
    )


@pytest.mark.core
def test_other_tables_of_a_publication_of_all_are_not_published(crowded: Pipeline) -> None:
    insert_elsewhere(crowded, 3)
    event_id = crowded.insert()
    crowded.start_relay()
    crowded.wait_for_records(1)
    assert [record.headers() for record in crowded.records()] == [[("id", event_id.encode())]]


def test_changes_of_other_tables_are_counted_as_ignored(crowded: Pipeline) -> None:
    relay = crowded.start_relay()
    insert_elsewhere(crowded, 7)
    ignored = "outbox_ignored_changes_total"  # such a publication has our own tables, too: more than 7 are counted
    wait_until(lambda: relay.metric(ignored) > 7, timeout=30, what="they are counted")


@pytest.mark.core
def test_the_slot_moves_on_over_changes_of_other_tables(crowded: Pipeline) -> None:
    crowded.start_relay()
    insert_elsewhere(crowded, 7)
    lsn = current_lsn(crowded)
    wait_until(lambda: crowded.confirmed_lsn() >= lsn, timeout=30, what="the slot is past the other table's rows")


@pytest.mark.core
def test_updates_deletes_and_truncates_of_the_outbox_publish_nothing(pipeline: Pipeline) -> None:
    remake(pipeline, "FOR TABLE public.outbox WITH (publish = 'insert, update, delete, truncate')")
    first = pipeline.insert()
    pipeline.database.execute("UPDATE public.outbox SET payload = '{\"changed\": true}', aggregateid = 'k2'")
    pipeline.database.execute("DELETE FROM public.outbox")
    pipeline.database.execute("TRUNCATE public.outbox")
    last = pipeline.insert()
    pipeline.start_relay()
    pipeline.wait_for_records(2)
    delivered: list[Any] = [record.headers() for record in pipeline.records()]
    assert delivered == [[("id", first.encode())], [("id", last.encode())]]


@pytest.mark.core
def test_rows_that_were_rolled_back_are_not_published(pipeline: Pipeline) -> None:
    with pipeline.database.connect() as conn:
        with conn.transaction(force_rollback=True):
            conn.execute("INSERT INTO public.outbox VALUES (gen_random_uuid(), %s, 'k')", [pipeline.aggregate_type])
        with conn.transaction():
            with conn.transaction(force_rollback=True):
                conn.execute("INSERT INTO public.outbox VALUES (gen_random_uuid(), %s, 'k')", [pipeline.aggregate_type])
            conn.execute("INSERT INTO public.outbox VALUES (gen_random_uuid(), %s, 'kept')", [pipeline.aggregate_type])
    pipeline.insert("last")
    pipeline.start_relay()
    pipeline.wait_for_records(2)
    assert sorted(record.key() or b"" for record in pipeline.records()) == [b"kept", b"last"]


def test_each_row_goes_to_the_topic_of_its_aggregate_type(pipeline: Pipeline, topic_prefix: str) -> None:
    kinds = [f"{topic_prefix}-a", f"{topic_prefix}-b"]
    for kind in kinds:
        pipeline.kafka.create_topic(f"outbox.event.{kind}")
        pipeline.database.execute("INSERT INTO public.outbox VALUES (gen_random_uuid(), %s, %s)", [kind, kind])
    pipeline.start_relay()
    bootstrap = pipeline.kafka.bootstrap
    arrived = {kind: wait_for_records(bootstrap, f"outbox.event.{kind}", 1)[0].key() for kind in kinds}
    assert arrived == {kind: kind.encode() for kind in kinds}
