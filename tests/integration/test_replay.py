"""Rows of the table again, on real servers: which rows, in which order, marked how, and that the slot is left alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fixtures.fix_postgres import MakePostgres
from tests.fixtures.fix_relay import MakePipeline, MakeRelay, Pipeline
from tests.fixtures.outbox import insert_event
from tests.integration.replay_rig import (
    header_of,
    id_of,
    ids_of,
    insert_rows,
    marks,
    replay,
    run_rows,
    start_replay,
    summary,
)

pytestmark = pytest.mark.kafka


@pytest.mark.core
def test_all_rows_are_published_again_in_the_order_of_the_table_and_marked(
    pipeline: Pipeline, make_relay: MakeRelay
) -> None:
    ids = insert_rows(pipeline, 25)
    confirmed = pipeline.confirmed_lsn()
    done = summary(replay(make_relay, pipeline))
    records = pipeline.wait_for_records(25)
    assert ids_of(records) == ids
    assert marks(records) == {done["run"]}
    assert (done["finished"], done["read"], done["published"], done["parked"]) == (True, 25, 25, 0)
    assert run_rows(pipeline, "id, kind, state, published_count") == [(done["run"], "replay", "finished", 25)]
    assert pipeline.confirmed_lsn() == confirmed


@pytest.mark.parametrize(
    ("column", "mapping"),
    [
        ("created_at timestamptz", {}),
        ("happened timestamp", {"timestamp": "happened"}),
        ("ms bigint", {"timestamp": "ms"}),
    ],
    ids=["created_at", "mapped", "milliseconds"],
)
def test_since_is_included_and_until_is_not(
    pipeline: Pipeline, make_relay: MakeRelay, column: str, mapping: dict[str, str]
) -> None:
    name, kind = column.split()
    ids = insert_rows(pipeline, 4)
    pipeline.database.execute(f"ALTER TABLE public.outbox ADD COLUMN {column}")
    for hour, event_id in enumerate(ids[:3], start=8):
        moment = f"timestamptz '2026-01-31 {hour:02}:00Z'"
        value = f"extract(epoch FROM {moment}) * 1000" if kind == "bigint" else f"{moment} AT TIME ZONE 'UTC'"
        value = moment if kind == "timestamptz" else value
        pipeline.database.execute(f"UPDATE public.outbox SET {name} = {value} WHERE id = %s", [event_id])
    outbox = {"table": "public.outbox", "columns": mapping}
    replay(make_relay, pipeline, "--since", "2026-01-31T08:00", "--until", "2026-01-31T11:00+01:00", outboxes=[outbox])
    records = pipeline.wait_for_records(2)
    assert ids_of(records) == ids[:2]
    assert [record.timestamp()[1] for record in records] == [1769846400000, 1769850000000]


def test_a_record_has_the_time_of_its_commit_where_the_server_keeps_it(
    make_postgres: MakePostgres, make_pipeline: MakePipeline, make_relay: MakeRelay
) -> None:
    pipeline = make_pipeline(server=make_postgres(track_commit_timestamp="on"))
    insert_rows(pipeline, 2)
    rows = pipeline.database.execute(
        "SELECT floor(extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000)::bigint, xmin::text::bigint"
        " FROM public.outbox ORDER BY ctid"
    )
    routes = [{"topic": pipeline.topic, "envelope": "native"}]
    replay(make_relay, pipeline, outboxes=[{"table": "public.outbox", "routes": routes}])
    records = pipeline.wait_for_records(2)
    values = [json.loads(record.value() or b"") for record in records]
    assert [record.timestamp()[1] for record in records] == [time_ms for time_ms, _ in rows]
    assert [(each["xid"], each["lsn"]) for each in values] == [(xid, "0/0") for _, xid in rows]


def test_relative_times_are_by_the_clock(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    insert_rows(pipeline, 2)
    pipeline.database.execute("ALTER TABLE public.outbox ADD created_at timestamptz DEFAULT now() - interval '1d'")
    pipeline.database.execute("ALTER TABLE public.outbox ALTER COLUMN created_at SET DEFAULT now()")
    fresh = insert_rows(pipeline, 3)
    replay(make_relay, pipeline, "--since", "2h")
    assert ids_of(pipeline.wait_for_records(3)) == fresh


@pytest.mark.core
def test_the_transactions_after_a_known_one_are_a_condition_like_any_other(
    pipeline: Pipeline, make_relay: MakeRelay
) -> None:
    insert_rows(pipeline, 5)
    [(xid,)] = pipeline.database.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::xid::text")
    later = insert_rows(pipeline, 3)
    replay(make_relay, pipeline, "--where", f"age(xmin) BETWEEN 0 AND age('{xid}'::xid)")
    assert ids_of(pipeline.wait_for_records(3)) == later


@pytest.mark.core
def test_a_partitioned_table_is_read_leaf_by_leaf(make_pipeline: MakePipeline, make_relay: MakeRelay) -> None:
    pipeline = make_pipeline()
    database = pipeline.database
    database.execute("DROP TABLE public.outbox")
    database.execute(
        "CREATE TABLE public.outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)"
        " PARTITION BY LIST (aggregateid)"
    )
    database.execute(
        "CREATE TABLE public.outbox_b PARTITION OF public.outbox FOR VALUES IN ('k1') PARTITION BY HASH (id)"
    )
    database.execute(
        "CREATE TABLE public.outbox_b1 PARTITION OF public.outbox_b FOR VALUES WITH (MODULUS 1, REMAINDER 0)"
    )
    database.execute(
        "CREATE TABLE public.outbox_a (payload jsonb, type text, aggregateid text, aggregatetype text, id uuid)"
    )
    database.execute("ALTER TABLE public.outbox ATTACH PARTITION public.outbox_a FOR VALUES IN ('k0', 'k2')")
    insert_rows(pipeline, 5)
    [(xid,)] = database.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::xid::text")
    ids = insert_rows(pipeline, 9)
    replay(make_relay, pipeline, "--where", f"outbox.type IS NOT NULL AND age(xmin) BETWEEN 0 AND age('{xid}'::xid)")
    in_b, in_a = ids[1::3], [each for number, each in enumerate(ids) if number % 3 != 1]
    assert ids_of(pipeline.wait_for_records(9)) == in_b + in_a


def test_only_what_the_publication_sends_is_published(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    ids = insert_rows(pipeline, 6)
    pipeline.database.execute(
        f"ALTER PUBLICATION {pipeline.publication} SET TABLE public.outbox WHERE (aggregateid <> 'k1')"
    )
    replay(make_relay, pipeline)
    assert ids_of(pipeline.wait_for_records(4)) == [each for number, each in enumerate(ids) if number % 3 != 1]


ENVELOPES: list[Any] = ["debezium", "cloudevents", {"cloudevents": "structured"}, "native", "raw"]


def test_the_header_is_in_every_envelope_and_routes_hold(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    insert_rows(pipeline, 1)
    with pipeline.database.connect() as conn:
        for number in range(len(ENVELOPES)):
            insert_event(conn, pipeline.aggregate_type, "k1", event_type=f"T{number}")
    routes: list[Any] = [{"when": {"type": "OrderCreated"}, "drop": True}]
    for number, envelope in enumerate(ENVELOPES):
        routes.append({"when": {"type": f"T{number}"}, "topic": pipeline.topic, "envelope": envelope})
    done = summary(replay(make_relay, pipeline, outboxes=[{"table": "public.outbox", "routes": routes}]))
    records = pipeline.wait_for_records(len(ENVELOPES))
    assert marks(records) == {done["run"]} and len(records) == len(ENVELOPES)
    assert (done["read"], done["published"], done["dropped"]) == (6, 5, 1)


def test_values_read_as_the_stream_prints_them(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    database = pipeline.database
    database.execute(
        "ALTER TABLE public.outbox ADD COLUMN flag boolean DEFAULT true, ADD COLUMN code char(5) DEFAULT 'ab',"
        " ADD COLUMN bytes bytea DEFAULT '\\xff00', ADD COLUMN at timestamptz DEFAULT '2026-01-31 08:00+01',"
        " ADD COLUMN ratio float8 DEFAULT 0.1"
    )
    database.execute(f"ALTER DATABASE {database.name} SET datestyle = 'German'")
    insert_rows(pipeline, 1)
    headers = {name: "{" + name + "}" for name in ("flag", "code", "bytes", "at", "ratio")}
    routes = [{"topic": pipeline.topic, "headers": headers}]
    outboxes = [{"table": "public.outbox", "routes": routes}]
    pipeline.start_relay(outboxes=outboxes)
    [streamed] = pipeline.wait_for_records(1)
    replay(make_relay, pipeline, outboxes=outboxes)
    _, replayed = pipeline.wait_for_records(2)
    assert list(replayed.headers() or [])[:-1] == streamed.headers()
    assert (replayed.key(), replayed.value()) == (streamed.key(), streamed.value())


def test_a_running_relay_goes_on_and_its_slot_is_left_alone(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    relay = pipeline.start_relay()
    old = insert_rows(pipeline, 20)
    pipeline.wait_for_records(20)
    process = start_replay(make_relay, pipeline, "--rate", "10")
    live = insert_rows(pipeline, 20)
    assert process.wait(120) == 0
    records = pipeline.wait_for_records(40 + summary(process)["published"] - 20)
    again = [id_of(record) for record in records if header_of(record) is not None]
    assert [id_of(record) for record in records if header_of(record) is None] == old + live
    assert again[:20] == old
    assert relay.is_running


def test_a_dry_run_needs_no_broker_and_publishes_nothing(pipeline: Pipeline, make_relay: MakeRelay) -> None:
    ids = insert_rows(pipeline, 7)
    pipeline.insert("poison", payload="null")
    routes = [{"when": {"aggregateid": "k0"}, "drop": True}, {"topic": "{aggregatetype}.{aggregateid}"}]
    found = summary(
        replay(
            make_relay,
            pipeline,
            "--dry-run",
            bootstrap="127.0.0.1:1",
            outboxes=[{"table": "public.outbox", "routes": routes}],
        )
    )
    assert found["read"] == 8 and found["dropped"] == 3
    assert found["topics"][f"{pipeline.aggregate_type}.k1"] == 2
    assert found["samples"][f"{pipeline.aggregate_type}.k1"] == [ids[1], ids[4]]
    assert run_rows(pipeline) == []
