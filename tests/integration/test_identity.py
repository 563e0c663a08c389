"""Who a parked record is: its place in the stream. Delivered again it is the same row, and ids make no duplicates."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka import Message

from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_proxy import MakeProxy, TcpProxy
from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess
from tests.fixtures.outbox import insert_event
from tests.fixtures.parked import end_lsn, parked, run_dlq, wait_for_parked, wait_for_status
from tests.fixtures.process import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]

SMALL = {"max.message.bytes": "1000"}
NEVER = {"retry": {"base": "1h", "max": "1h"}}
LARGE = "x" * 5000
NUMBERED = """
ALTER TABLE outbox DROP id;
CREATE SEQUENCE numbers;
ALTER TABLE outbox ADD id bigint DEFAULT nextval('numbers');
ALTER SEQUENCE numbers OWNED BY outbox.id;
TRUNCATE outbox RESTART IDENTITY
"""


def start_unheard(pipeline: Pipeline, proxy: TcpProxy) -> RelayProcess:
    """A relay whose confirmations do not reach Postgres any more: what it reads from now on will come again."""
    relay = pipeline.start_relay(
        dsn=pipeline.dsn(port=proxy.port),
        source={"wal_sender_timeout": "60s"},
        parking={"dsn": pipeline.dsn()},
        delivery=NEVER,
    )
    pipeline.insert(payload='{"name": "first"}')
    end = end_lsn(pipeline.database)
    wait_until(lambda: pipeline.confirmed_lsn() >= end, timeout=60, what="the first event is confirmed")
    proxy.stall("to_server")
    return relay


def kill_unheard(relay: RelayProcess, proxy: TcpProxy) -> None:
    relay.kill()
    proxy.cut()  # with what is still on its way
    proxy.resume()


def confirm_all(pipeline: Pipeline) -> RelayProcess:
    end = end_lsn(pipeline.database)
    relay = pipeline.start_relay(delivery=NEVER)
    wait_until(lambda: pipeline.confirmed_lsn() >= end, timeout=60, what="all that came again is confirmed")
    return relay


def insert(pipeline: Pipeline, aggregate_type: str, name: str, **more: Any) -> str:
    with pipeline.database.connect() as conn:
        return insert_event(conn, aggregate_type, payload=json.dumps({"name": name, **more}))


def names_on(pipeline: Pipeline) -> list[str]:
    return [json.loads(record.value() or b"")["name"] for record in pipeline.records()]


def whole_rows(pipeline: Pipeline) -> list[tuple[Any, ...]]:
    return parked(pipeline.database, "parked_records::text")


@pytest.fixture
def proxy(make_pipeline: MakePipeline, make_proxy: MakeProxy) -> tuple[Pipeline, TcpProxy]:
    pipeline = make_pipeline(topic_config=SMALL)
    return pipeline, make_proxy("127.0.0.1", pipeline.database.server.port)


# --- delivered again


def test_a_parked_record_that_is_delivered_again_makes_no_second_row_and_changes_nothing_in_the_first(
    proxy: tuple[Pipeline, TcpProxy],
) -> None:
    pipeline, line = proxy
    relay = start_unheard(pipeline, line)
    before = pipeline.confirmed_lsn()
    insert(pipeline, "not/allowed", "unroutable")
    insert(pipeline, pipeline.aggregate_type, "large", pad=LARGE)
    insert(pipeline, pipeline.aggregate_type, "good")
    wait_for_status(pipeline.database, ["dead", "retrying"])
    wait_until(lambda: "good" in names_on(pipeline), timeout=60, what="the good one is delivered")
    kill_unheard(relay, line)
    assert pipeline.confirmed_lsn() == before  # or nothing would come again
    pipeline.database.execute("UPDATE cdc_relay.parked_records SET key = 'edited', value = '{}', attempts = 2")
    rows = whole_rows(pipeline)

    confirm_all(pipeline)
    assert whole_rows(pipeline) == rows
    assert sorted(names_on(pipeline)) == ["first", "good", "good"]  # what was acknowledged and not confirmed, once more


def test_what_was_published_from_the_lot_or_given_up_is_not_published_when_it_is_delivered_again(
    proxy: tuple[Pipeline, TcpProxy],
) -> None:
    pipeline, line = proxy
    relay = start_unheard(pipeline, line)
    before = pipeline.confirmed_lsn()
    published = insert(pipeline, pipeline.aggregate_type, "published", pad=LARGE)
    discarded = insert(pipeline, pipeline.aggregate_type, "discarded", pad=LARGE)
    wait_for_status(pipeline.database, ["retrying", "retrying"])
    assert isinstance(pipeline.kafka, KafkaBroker)
    pipeline.kafka.configure_topic(pipeline.topic, max_message_bytes="100000")
    run_dlq(relay, "discard", discarded, "--reason", "a test", "--yes")
    run_dlq(relay, "retry", published)
    wait_for_status(pipeline.database, ["published", "discarded"])
    kill_unheard(relay, line)
    assert pipeline.confirmed_lsn() == before
    rows = whole_rows(pipeline)

    confirm_all(pipeline)
    assert whole_rows(pipeline) == rows
    assert names_on(pipeline) == ["first", "published"]


# --- ids that repeat, and none at all


def number_rows(pipeline: Pipeline) -> None:
    """Its ids come from a sequence that TRUNCATE … RESTART IDENTITY starts anew."""
    pipeline.database.execute(NUMBERED)


def insert_numbered(pipeline: Pipeline, round_name: str, *, id_sql: str = "DEFAULT") -> None:
    """Three bad ones and three good ones, each kind in one transaction."""
    for kind, aggregate_type in (("bad", "not/allowed"), ("good", pipeline.aggregate_type)):
        payload = json.dumps({"name": f"{kind} of {round_name}"})
        with pipeline.database.connect() as conn, conn.transaction():
            for _ in range(3):
                conn.execute(
                    f"INSERT INTO outbox (aggregatetype, aggregateid, type, payload, id)"
                    f" VALUES (%s, 'k', 'T', %s, {id_sql})",
                    [aggregate_type, payload],
                )


def id_of(record: Message) -> bytes | None:
    headers: Any = record.headers()
    [(_, value)] = headers
    return value if value is None else bytes(value)


def parked_names(pipeline: Pipeline) -> list[tuple[Any, ...]]:
    return parked(pipeline.database, "event_id, convert_from(value, 'UTF8')::jsonb ->> 'name'")


def test_ids_that_begin_anew_after_a_truncate_are_other_events(pipeline: Pipeline) -> None:
    number_rows(pipeline)
    pipeline.start_relay()
    for round_name in ("first", "second"):
        insert_numbered(pipeline, round_name)
        pipeline.database.execute("TRUNCATE outbox RESTART IDENTITY")
    wait_for_parked(pipeline.database, 6)
    assert [id_of(record) for record in pipeline.wait_for_records(6)] == [b"4", b"5", b"6"] * 2
    expected = [(str(number), f"bad of {name}") for name in ("first", "second") for number in (1, 2, 3)]
    assert parked_names(pipeline) == expected


def test_ids_that_begin_anew_are_other_events_also_where_the_first_ones_are_delivered_again(
    pipeline: Pipeline, make_proxy: MakeProxy
) -> None:
    line = make_proxy("127.0.0.1", pipeline.database.server.port)
    relay = start_unheard(pipeline, line)
    number_rows(pipeline)
    insert_numbered(pipeline, "first")
    wait_for_parked(pipeline.database, 3)
    kill_unheard(relay, line)
    pipeline.database.execute("TRUNCATE outbox RESTART IDENTITY")
    insert_numbered(pipeline, "second")

    confirm_all(pipeline)
    expected = [(str(number), f"bad of {name}") for name in ("first", "second") for number in (1, 2, 3)]
    assert parked_names(pipeline) == expected
    found = names_on(pipeline)
    assert found.count("good of second") == 3
    assert found.count("good of first") >= 3


def test_events_without_an_id_are_all_delivered_or_parked(pipeline: Pipeline, make_proxy: MakeProxy) -> None:
    line = make_proxy("127.0.0.1", pipeline.database.server.port)
    relay = start_unheard(pipeline, line)
    number_rows(pipeline)
    insert_numbered(pipeline, "first", id_sql="NULL")
    wait_for_parked(pipeline.database, 3)
    kill_unheard(relay, line)
    insert_numbered(pipeline, "second", id_sql="NULL")

    confirm_all(pipeline)
    assert parked_names(pipeline) == [(None, "bad of first")] * 3 + [(None, "bad of second")] * 3
    nameless = [record for record in pipeline.records() if id_of(record) is None]
    assert len(nameless) >= 6
    assert names_on(pipeline).count("good of second") == 3
