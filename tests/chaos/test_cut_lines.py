"""The network between the relay and its servers: cut, stalled, truncated, slow. Writers and witnesses go around it."""

from __future__ import annotations

import random

import pytest

from tests.chaos.observed import find_walsender, wait_for_status_updates, wait_until_readiness
from tests.chaos.trial import make_judged_pipeline, trial
from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_proxy import MakeProxy, TcpProxy
from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess
from tests.fixtures.process import wait_until
from tests.fixtures.proxied_line import Direction

CUT_COUNT = 5
WAL_SENDER_TIMEOUT_SECONDS = 6.0  # silence is noticed after half of it
TRUNCATE_WITHIN_BYTES = 50_000
SEVERAL = 4  # status updates, one a second

SMALL_REQUESTS = {"batch.num.messages": 50}  # so that most of a queue is not on the wire: five requests are at a time
QUEUED = 20 * 5 * 50


# --- to Postgres


@pytest.fixture
def pipeline(make_pipeline: MakePipeline) -> Pipeline:
    return make_judged_pipeline(make_pipeline)


@pytest.fixture
def postgres_proxy(pipeline: Pipeline, make_proxy: MakeProxy) -> TcpProxy:
    return make_proxy("127.0.0.1", pipeline.database.server.port)


@pytest.fixture
def relay(pipeline: Pipeline, postgres_proxy: TcpProxy) -> RelayProcess:
    """Reads through the proxy."""
    return pipeline.start_relay(
        dsn=pipeline.dsn(port=postgres_proxy.port),
        source={"wal_sender_timeout": f"{WAL_SENDER_TIMEOUT_SECONDS:g}s"},
    )


@pytest.mark.kafka
@pytest.mark.usefixtures("relay")
def test_a_line_to_postgres_that_is_cut_again_and_again_loses_nothing(
    pipeline: Pipeline, postgres_proxy: TcpProxy, rng: random.Random
) -> None:
    with trial(pipeline, rng) as load:
        with load.incident("cuts"):
            for _ in range(CUT_COUNT):
                load.let_deliver(rng.randint(1, 500))
                postgres_proxy.cut()
        load.let_deliver()
    load.report().assert_clean()


@pytest.mark.kafka
@pytest.mark.usefixtures("relay")
def test_a_line_to_postgres_that_ends_in_the_middle_of_a_frame_loses_nothing(
    pipeline: Pipeline, postgres_proxy: TcpProxy, rng: random.Random
) -> None:
    with trial(pipeline, rng) as load:
        with load.incident("cuts in mid-frame"):
            for _ in range(CUT_COUNT):
                load.let_deliver(rng.randint(1, 500))
                closed = closed_count(postgres_proxy)
                postgres_proxy.truncate_after(rng.randint(1, TRUNCATE_WITHIN_BYTES), "to_client")
                wait_until(lambda: closed_count(postgres_proxy) > closed, timeout=60, what="a line is truncated")  # noqa: B023 - called at once
        load.let_deliver()
    load.report().assert_clean()


@pytest.mark.kafka
@pytest.mark.parametrize("direction", ["to_client", None], ids=["from Postgres", "both ways"])
def test_a_silent_postgres_is_noticed_before_it_lets_the_slot_go(
    pipeline: Pipeline,
    postgres_proxy: TcpProxy,
    relay: RelayProcess,
    rng: random.Random,
    direction: Direction | None,
) -> None:
    with trial(pipeline, rng) as load:
        load.let_deliver()
        with load.incident("stall"):
            postgres_proxy.stall(direction)
            relay.wait_for_log("Postgres has been silent", timeout=WAL_SENDER_TIMEOUT_SECONDS)
            postgres_proxy.resume()
        load.let_deliver()
    load.report().assert_clean()


@pytest.mark.kafka
def test_a_postgres_that_does_not_hear_us_is_connected_to_again(
    pipeline: Pipeline, postgres_proxy: TcpProxy, relay: RelayProcess, rng: random.Random
) -> None:
    """We hear it all the while; it gives up first."""
    with trial(pipeline, rng) as load:
        load.let_deliver()
        with load.incident("stall"):
            postgres_proxy.stall("to_server")
            relay.wait_for_log('"state": "waiting"')
            postgres_proxy.resume()
        load.let_deliver()
    load.report().assert_clean()


@pytest.mark.kafka
@pytest.mark.usefixtures("relay")
def test_a_slow_line_to_postgres_is_not_taken_for_a_dead_one(
    pipeline: Pipeline, postgres_proxy: TcpProxy, rng: random.Random
) -> None:
    with trial(pipeline, rng) as load:
        load.let_deliver()
        before = find_walsender(pipeline)
        postgres_proxy.delay(0.5)
        wait_for_status_updates(pipeline, SEVERAL)
        load.let_deliver()
        after = find_walsender(pipeline)
    assert before is not None
    assert after is not None
    assert after.pid == before.pid
    load.report().assert_clean(allow_duplicates=False)


@pytest.mark.real_kafka
def test_a_relay_that_lost_its_line_publishes_nothing_more_from_its_queue(
    make_pipeline: MakePipeline,
    make_proxy: MakeProxy,
    mortal_kafka: KafkaBroker,
    kafka_proxy: TcpProxy,
    rng: random.Random,
) -> None:
    """Another may read the slot by now. What was not yet on the wire is given up at once, not after the backoff, which
    the first cuts have made long enough to see."""
    pipeline = make_judged_pipeline(make_pipeline, kafka=mortal_kafka)
    postgres_proxy = make_proxy("127.0.0.1", pipeline.database.server.port)
    relay = pipeline.start_relay(
        dsn=pipeline.dsn(port=postgres_proxy.port),
        bootstrap=kafka_proxy.address,
        sink={"kafka": SMALL_REQUESTS},
    )
    with trial(pipeline, rng, pause_seconds=0) as load:
        for number in range(1, 4):
            postgres_proxy.cut()
            relay.wait_for_log('"state": "streaming"', count=number + 1)
        load.let_deliver()
        kafka_proxy.stall("to_server")
        wait_until_readiness(relay, lambda said: said.get("open_records", 0) >= QUEUED, what="its queue is long")
        before = load.repetition_count
        postgres_proxy.cut()
        relay.wait_for_log('"state": "waiting"', count=4)
        kafka_proxy.resume()
        load.let_deliver()
    stale_count = load.repetition_count - before
    print(f"{stale_count} of at least {QUEUED} came twice")
    assert stale_count < QUEUED / 2
    load.report().assert_clean()


def closed_count(proxy: TcpProxy) -> int:
    return len(proxy.connections) - len(proxy.open_connections)


# --- to Kafka


@pytest.fixture
def kafka_pipeline(make_pipeline: MakePipeline, mortal_kafka: KafkaBroker, kafka_proxy: TcpProxy) -> Pipeline:
    """With a relay that publishes through the proxy, and gives up on a request after 2 s instead of 60."""
    pipeline = make_judged_pipeline(make_pipeline, kafka=mortal_kafka)
    kafka = {"socket.timeout.ms": 2000, "request.timeout.ms": 2000}
    pipeline.start_relay(bootstrap=kafka_proxy.address, sink={"kafka": kafka})
    return pipeline


@pytest.mark.real_kafka
def test_a_line_to_kafka_that_is_cut_again_and_again_makes_not_even_duplicates(
    kafka_pipeline: Pipeline, kafka_proxy: TcpProxy, rng: random.Random
) -> None:
    with trial(kafka_pipeline, rng) as load:
        for _ in range(CUT_COUNT):
            load.let_deliver(rng.randint(1, 500))
            kafka_proxy.cut()
        load.let_deliver()
    load.report().assert_clean(allow_duplicates=False)


@pytest.mark.real_kafka
@pytest.mark.parametrize("direction", ["to_server", "to_client"], ids=["to Kafka", "from Kafka"])
def test_a_line_to_kafka_that_stalls_makes_not_even_duplicates(
    kafka_pipeline: Pipeline, kafka_proxy: TcpProxy, rng: random.Random, direction: Direction
) -> None:
    """For longer than the producer waits for an answer, so that it sends again what the broker may have."""
    with trial(kafka_pipeline, rng) as load:
        load.let_deliver()
        kafka_proxy.stall(direction)
        wait_for_status_updates(kafka_pipeline, SEVERAL)
        kafka_proxy.resume()
        load.let_deliver()
    load.report().assert_clean(allow_duplicates=False)


@pytest.mark.real_kafka
def test_a_broker_that_refuses_connections_for_a_while_gets_everything(
    kafka_pipeline: Pipeline, kafka_proxy: TcpProxy, rng: random.Random
) -> None:
    with trial(kafka_pipeline, rng) as load:
        load.let_deliver()
        kafka_proxy.refuse()
        kafka_proxy.cut()
        wait_for_status_updates(kafka_pipeline, SEVERAL)
        kafka_proxy.accept()
        load.let_deliver()
    load.report().assert_clean(allow_duplicates=False)
