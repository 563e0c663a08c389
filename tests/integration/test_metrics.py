"""`/metrics` of a relay between real servers: every figure is what really happened."""

from __future__ import annotations

import pytest

from tests.fixtures.fix_relay import Pipeline
from tests.fixtures.outbox import insert_event, insert_events
from tests.fixtures.relay_process import RelayProcess
from tests.integration.metrics_rig import Samples, read_metrics, wait_for_metrics
from tests.integration.waiting_rig import wait_for_state

pytestmark = pytest.mark.kafka

OUTBOX = "public.outbox"
LATENCY = "outbox_publish_latency_seconds"


def publish(pipeline: Pipeline, relay: RelayProcess, count: int) -> Samples:
    with pipeline.database.connect() as conn:
        insert_events(conn, count, pipeline.aggregate_type)
    series = "outbox_published_total", OUTBOX, pipeline.topic
    return wait_for_metrics(relay, lambda seen: seen.get(series) == count, what="all are counted")


@pytest.mark.core
def test_what_was_published_is_counted_by_outbox_and_topic_and_has_a_latency(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay(service="shop/orders")
    seen = publish(pipeline, relay, 50)
    assert seen["outbox_publish_attempts_total", OUTBOX, pipeline.topic] == 50
    assert seen[f"{LATENCY}_count", OUTBOX] == seen[f"{LATENCY}_bucket", "+Inf", OUTBOX] == 50
    assert 0 < seen[f"{LATENCY}_sum", OUTBOX] / 50 < 60
    assert seen["outbox_stage_seconds_count", "decode"] >= 1
    assert seen["outbox_stage_seconds_count", "produce"] >= 1
    assert seen[("outbox_published_bytes_total",)] > 0
    assert seen[("outbox_slot_active",)] == 1
    assert 'service="shop/orders"' in relay.get("/metrics")[1]
    wait_for_metrics(relay, lambda seen: seen["outbox_stage_seconds_count", "confirm"] >= 1, what="a confirmation")


@pytest.mark.core
def test_the_room_that_postgres_leaves_the_slot_is_shown(pipeline: Pipeline) -> None:
    """Of the server's own setting: unlimited has no figure, a limit has two."""
    relay = pipeline.start_relay()
    assert ("outbox_slot_wal_headroom_bytes",) not in read_metrics(relay)
    with pipeline.database.connect() as conn:
        conn.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '1GB'")
        conn.execute("SELECT pg_reload_conf()")
    try:
        seen = wait_for_metrics(
            relay, lambda seen: ("outbox_slot_wal_headroom_bytes",) in seen, what="the headroom is shown"
        )
        assert seen[("outbox_slot_wal_limit_bytes",)] == 1 << 30
        assert 0 < seen[("outbox_slot_wal_headroom_bytes",)] < 2 << 30
    finally:
        with pipeline.database.connect() as conn:
            conn.execute("ALTER SYSTEM RESET max_slot_wal_keep_size")
            conn.execute("SELECT pg_reload_conf()")


def test_failures_are_counted_by_what_becomes_of_them(pipeline: Pipeline) -> None:
    """A row without a route is given up at once; one for a partition that may be added is tried again."""
    columns = {"id": "id", "key": "aggregateid", "type": "type", "payload": "payload"}
    routes = [{"when": {"aggregatetype": pipeline.aggregate_type}, "topic": pipeline.topic, "partition": 99}]
    relay = pipeline.start_relay(outboxes=[{"table": OUTBOX, "columns": columns, "routes": routes}])
    with pipeline.database.connect() as conn:
        insert_event(conn, "nobody knows", "k")
        insert_event(conn, pipeline.aggregate_type, "k")
    seen = wait_for_metrics(relay, lambda seen: seen["outbox_parked_total", "failure"] == 2, what="both are parked")
    assert seen["outbox_failed_permanent_total", OUTBOX, "(none)"] == 1
    assert seen["outbox_retry_total", OUTBOX, pipeline.topic] >= 1
    assert seen["outbox_publish_attempts_total", OUTBOX, pipeline.topic] >= 1
    assert seen["outbox_published_total", OUTBOX, pipeline.topic] == 0
    seen = wait_for_metrics(relay, lambda seen: seen["outbox_lot_records", "dead"] == 1, what="the lot is read")
    assert seen["outbox_lot_records", "retrying"] == 1
    assert seen[("outbox_backlog_gauge",)] == 1
    assert seen[("outbox_lot_bytes",)] > 0


@pytest.mark.real_kafka
def test_librdkafka_s_queue_and_brokers_are_shown(pipeline: Pipeline) -> None:
    relay = pipeline.start_relay(sink={"kafka": {"statistics.interval.ms": 200}})
    publish(pipeline, relay, 5)
    up = "outbox_kafka_broker_up"
    seen = wait_for_metrics(relay, lambda seen: 1 in _of_brokers(seen, up).values(), what="the broker is up")
    [broker] = _of_brokers(seen, up)
    assert broker.startswith(f"{pipeline.kafka.bootstrap}/")
    assert seen[("outbox_kafka_queue_records",)] == 0
    assert seen["outbox_kafka_broker_requests_in_flight", broker] >= 0
    with pipeline.database.connect() as conn:
        insert_events(conn, 5, pipeline.aggregate_type)
    rtt = "outbox_kafka_broker_rtt_seconds", broker
    assert wait_for_metrics(relay, lambda seen: rtt in seen, what="a round trip is shown")[rtt] > 0


def test_a_standby_shows_that_the_slot_is_read_and_nothing_of_its_lag(pipeline: Pipeline) -> None:
    reader = pipeline.start_relay()
    standby = pipeline.start_relay()
    wait_for_state(standby, "standby")
    seen = read_metrics(standby)
    assert (seen[("outbox_slot_active",)], seen["outbox_state", "standby"]) == (1, 1)
    assert ("outbox_slot_lag_bytes",) not in seen
    assert ("outbox_slot_lag_bytes",) in read_metrics(reader)


def _of_brokers(seen: Samples, name: str) -> dict[str, float]:
    return {key[1]: value for key, value in seen.items() if key[0] == name}
