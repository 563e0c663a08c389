"""Postgres restarts, crashes or ends our sessions: the relay comes back by itself, and never stands in the way."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.chaos.observed import find_walsender, wait_for_another_walsender, wait_until_readiness
from tests.chaos.trial import make_judged_pipeline, trial
from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_postgres import MakePostgres, PostgresServer
from tests.fixtures.fix_relay import MakePipeline, Pipeline
from tests.fixtures.process import wait_until

pytestmark = pytest.mark.kafka

FAST_SHUTDOWN_SECONDS = 20.0
TERMINATION_COUNT = 5
WINDOW = 50
KEEPS_POSITIONS_SINCE = 17  # a shutdown writes down what every slot has confirmed


@pytest.fixture
def server(make_postgres: MakePostgres) -> PostgresServer:
    return make_postgres()


# --- restarts


@pytest.mark.core
def test_a_fast_restart_under_load_is_not_held_up_and_loses_nothing(
    server: PostgresServer, make_pipeline: MakePipeline, rng: random.Random
) -> None:
    pipeline = make_judged_pipeline(make_pipeline, server=server)
    pipeline.start_relay()
    with trial(pipeline, rng) as load:
        load.let_deliver()
        with load.incident("restart", rewinds=server.version < KEEPS_POSITIONS_SINCE):
            server.stop("fast", timeout=FAST_SHUTDOWN_SECONDS)
            server.start()
            load.let_deliver()
        load.let_deliver()
    load.report().assert_clean()


def stop_immediately(server: PostgresServer) -> None:
    server.stop("immediate")


@pytest.mark.parametrize("crash", [stop_immediately, PostgresServer.kill], ids=["immediate", "killed"])
def test_a_crash_under_load_loses_nothing(
    server: PostgresServer,
    make_pipeline: MakePipeline,
    rng: random.Random,
    crash: Callable[[PostgresServer], None],
) -> None:
    pipeline = make_judged_pipeline(make_pipeline, server=server)
    pipeline.start_relay()
    with trial(pipeline, rng) as load:
        load.let_deliver()
        with load.incident("crash", rewinds=True):
            crash(server)
            server.start()
            load.let_deliver()
        load.let_deliver()
    load.report().assert_clean()


def test_a_fast_shutdown_is_not_held_up_by_an_idle_relay(server: PostgresServer, make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline(server=server)
    pipeline.start_relay()
    server.stop("fast", timeout=FAST_SHUTDOWN_SECONDS)
    server.start()
    pipeline.insert()
    assert len(pipeline.wait_for_records(1)) == 1


@pytest.mark.real_kafka
@pytest.mark.parametrize("catalog", ["watched", "just lost"])
def test_a_fast_shutdown_is_not_held_up_by_a_relay_that_holds(
    server: PostgresServer, make_pipeline: MakePipeline, mortal_kafka: KafkaBroker, rng: random.Random, catalog: str
) -> None:
    """With a full window it reads nothing more, and it has not released the line yet. Its catalog connection tells it
    that the server leaves; if that was lost a moment before, it has to find out all the same."""
    pipeline = make_judged_pipeline(make_pipeline, server=server, kafka=mortal_kafka)
    relay = pipeline.start_relay(delivery={"window": {"records": WINDOW}, "release_line_after": "10m"})
    with trial(pipeline, rng) as load:
        load.let_deliver()
        mortal_kafka.freeze()
        wait_until_readiness(relay, lambda said: said.get("open_records") == WINDOW, what="its window is full")
        if catalog == "just lost":
            end_catalog_connection(pipeline)
        server.stop("fast", timeout=FAST_SHUTDOWN_SECONDS)
        server.start()
        mortal_kafka.thaw()
        load.let_deliver()
    load.report().assert_clean()


# --- sessions that are ended


@pytest.mark.core
def test_a_walsender_that_is_terminated_again_and_again_loses_nothing(
    make_pipeline: MakePipeline, rng: random.Random
) -> None:
    pipeline = make_judged_pipeline(make_pipeline)
    pipeline.start_relay()
    with trial(pipeline, rng) as load:
        pid = wait_for_another_walsender(pipeline, None)
        for _ in range(TERMINATION_COUNT):
            load.let_deliver(rng.randint(1, 500))
            with load.incident("walsender ended"):
                pipeline.database.terminate_walsenders()
                pid = wait_for_another_walsender(pipeline, pid)
        load.let_deliver()
    load.report().assert_clean()


def test_a_catalog_connection_that_is_terminated_does_not_disturb_the_stream(
    make_pipeline: MakePipeline, rng: random.Random
) -> None:
    pipeline = make_judged_pipeline(make_pipeline)
    pipeline.start_relay()
    with trial(pipeline, rng) as load:
        load.let_deliver()
        before = find_walsender(pipeline)
        ended = end_catalog_connection(pipeline)
        wait_until(lambda: catalog_pids(pipeline) not in ([ended], []), timeout=60, what="the catalog is read again")
        load.let_deliver()
        after = find_walsender(pipeline)
        assert before is not None
        assert after is not None
        assert after.pid == before.pid
    load.report().assert_clean(allow_duplicates=False)


def end_catalog_connection(pipeline: Pipeline) -> int:
    [pid] = catalog_pids(pipeline)
    pipeline.database.execute("SELECT pg_terminate_backend(%s)", [pid])
    wait_until(lambda: pid not in catalog_pids(pipeline), timeout=30, what="the catalog connection is gone")
    return pid


def catalog_pids(pipeline: Pipeline) -> list[int]:
    rows = pipeline.database.execute(
        "SELECT pid FROM pg_stat_activity WHERE application_name = %s", [f"cdc-relay:{pipeline.slot}:catalog"]
    )
    return [pid for (pid,) in rows]
