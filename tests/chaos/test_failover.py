"""A standby is promoted in place of its primary: the relay follows, and never takes a position with it (promise 3)."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.chaos.observed import readiness, wait_for_state, wait_for_status_updates
from tests.chaos.trial import make_judged_pipeline, trial
from tests.fixtures.conversation import Conversation, talks
from tests.fixtures.fix_postgres import MakePrimary, Primary
from tests.fixtures.fix_proxy import MakeProxy, TcpProxy
from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess
from tests.fixtures.outbox import insert_events
from tests.fixtures.postgres_pair import STANDBY_SLOT, Standby
from tests.fixtures.process import wait_until
from tests.integration.promise_rig import event_ids

pytestmark = pytest.mark.kafka

LOST_ROW_COUNT = 500  # of 2 kB: the promoted standby's history ends far before what the old primary confirmed
FAST_SHUTDOWN_SECONDS = 20.0
SLOT = "SELECT failover, synced, temporary, active FROM pg_replication_slots WHERE slot_name = %s"


def wait_until_synchronized(standby: Standby, slot: str) -> None:
    """A standby looks after the slots every 30 s at the latest."""
    wait_until(lambda: standby.is_synchronized(slot), timeout=120, what="the standby has the slot")


def fail_over(primary: Primary) -> None:
    assert primary.standby is not None
    primary.kill()
    primary.standby.promote()


def wal_lsn(pipeline: Pipeline) -> int:
    [(lsn,)] = pipeline.database.execute("SELECT pg_current_wal_insert_lsn() - '0/0'")
    return int(lsn)


def wait_until_confirmed(pipeline: Pipeline) -> None:
    end = wal_lsn(pipeline)
    wait_until(lambda: pipeline.confirmed_lsn() >= end, timeout=90, what="the slot is confirmed to the end")


# --- with synchronized_standby_slots


@pytest.fixture
def careful(make_primary: MakePrimary) -> Primary:
    """Its failover slots are never ahead of the standby."""
    return make_primary(synchronized_standby_slots=STANDBY_SLOT)


def test_a_failover_under_load_loses_nothing_and_publishes_nothing_that_the_new_primary_lacks(
    careful: Primary, make_pipeline: MakePipeline, rng: random.Random
) -> None:
    standby = careful.add_standby()
    pipeline = make_judged_pipeline(make_pipeline, server=careful, failover=True)
    relay = pipeline.start_relay()
    with trial(pipeline, rng) as load:
        load.fails_over = True
        load.let_deliver()
        wait_until_synchronized(standby, pipeline.slot)
        load.let_deliver()
        with load.incident("failover", rewinds=True, moves=True):
            fail_over(careful)
            load.let_deliver()
        load.let_deliver()
    load.report().assert_clean()
    assert pipeline.database.execute(SLOT, [pipeline.slot]) == [(True, True, False, True)]
    assert relay.stop() == 0


def test_the_synchronized_slot_is_read_on_from_where_it_was(careful: Primary, make_pipeline: MakePipeline) -> None:
    standby = careful.add_standby()
    pipeline = make_pipeline(server=careful, failover=True)
    relay = pipeline.start_relay()
    before = [pipeline.insert() for _ in range(3)]
    pipeline.wait_for_records(3)
    wait_until_confirmed(pipeline)
    confirmed = pipeline.confirmed_lsn()
    wait_until_synchronized(standby, pipeline.slot)
    wait_until(
        lambda: confirmed_on(standby, pipeline.slot) >= confirmed, timeout=120, what="the standby's slot follows"
    )

    fail_over(careful)
    after = [pipeline.insert() for _ in range(3)]
    pipeline.wait_for_records(6)
    assert event_ids(pipeline) == before + after
    assert pipeline.database.execute(SLOT, [pipeline.slot]) == [(True, True, False, True)]
    assert relay.stop() == 0


def confirmed_on(standby: Standby, slot: str) -> int:
    [(lsn,)] = standby.execute(
        "SELECT coalesce(confirmed_flush_lsn, '0/0') - '0/0' FROM pg_replication_slots WHERE slot_name = %s", [slot]
    )
    return int(lsn)


def test_what_the_standby_lacks_is_not_published(
    careful: Primary, make_pipeline: MakePipeline, make_proxy: MakeProxy
) -> None:
    pipeline, upstream = lagging(careful, make_pipeline, make_proxy)
    relay = pipeline.start_relay()
    first = deliver_first(pipeline, careful)
    cut(upstream)
    pipeline.insert()  # committed, and lost with the primary
    wait_for_status_updates(pipeline, 3)
    fail_over(careful)
    last = pipeline.insert()
    pipeline.wait_for_records(2)
    assert list(dict.fromkeys(event_ids(pipeline))) == [first, last]
    assert relay.is_running


def test_a_fast_shutdown_is_not_held_up_by_a_slot_that_waits_for_its_standby(
    careful: Primary, make_pipeline: MakePipeline, make_proxy: MakeProxy
) -> None:
    pipeline, upstream = lagging(careful, make_pipeline, make_proxy)
    pipeline.start_relay()
    deliver_first(pipeline, careful)
    cut(upstream)
    pipeline.insert()
    wait_for_status_updates(pipeline, 3)
    careful.stop("fast", timeout=FAST_SHUTDOWN_SECONDS)
    careful.start()
    upstream.accept()
    assert len(pipeline.wait_for_records(2)) >= 2


# --- without it


def lagging(primary: Primary, make_pipeline: MakePipeline, make_proxy: MakeProxy) -> tuple[Pipeline, TcpProxy]:
    """The standby's own line goes through a proxy."""
    upstream = make_proxy("127.0.0.1", primary.port)
    primary.add_standby(upstream_port=upstream.port)
    return make_pipeline(server=primary, failover=True), upstream


def deliver_first(pipeline: Pipeline, primary: Primary) -> str:
    assert primary.standby is not None
    first = pipeline.insert()
    pipeline.wait_for_records(1)
    wait_until_synchronized(primary.standby, pipeline.slot)
    return first


def cut(proxy: TcpProxy) -> None:
    proxy.refuse()
    proxy.cut()


def test_no_position_of_the_old_primary_is_reported_to_a_new_one_with_a_shorter_history(
    make_primary: MakePrimary, make_pipeline: MakePipeline, make_proxy: MakeProxy
) -> None:
    """Postgres would believe it, and skip the rows that it writes up to there without a word."""
    primary = make_primary()
    pipeline, upstream = lagging(primary, make_pipeline, make_proxy)
    assert primary.standby is not None
    to_old, to_new = (make_proxy("127.0.0.1", port) for port in (primary.port, primary.standby.port))
    to_new.record = True
    relay = pipeline.start_relay(dsn=dsn_over(pipeline, to_old, to_new))
    deliver_first(pipeline, primary)
    cut(upstream)
    lose_rows(pipeline)
    old_confirmed = pipeline.confirmed_lsn()

    fail_over(primary)
    new = [pipeline.insert() for _ in range(20)]
    assert wal_lsn(pipeline) < old_confirmed, "the new history is as long as the old one, so nothing was shown"
    wait_until(lambda: set(new) <= set(event_ids(pipeline)), timeout=90, what="every row of the new primary comes")
    wait_until_confirmed(pipeline)
    assert_only_its_own_positions(talks(to_new))
    assert relay.is_running


def dsn_over(pipeline: Pipeline, *proxies: TcpProxy) -> str:
    return pipeline.dsn(
        host=",".join(proxy.host for proxy in proxies),
        port=",".join(str(proxy.port) for proxy in proxies),
        target_session_attrs="read-write",
        sslmode="disable",
        gssencmode="disable",
    )


def lose_rows(pipeline: Pipeline) -> None:
    """Published and confirmed on the old primary, and nowhere on the standby."""
    with pipeline.database.connect() as conn:
        insert_events(conn, LOST_ROW_COUNT, pipeline.aggregate_type, payload_bytes=2_000)
    wait_until_confirmed(pipeline)
    assert len(pipeline.records()) == 1 + LOST_ROW_COUNT


def assert_only_its_own_positions(conversations: list[Conversation]) -> None:
    assert conversations
    for talk in conversations:
        assert talk.flushes[0] == 0
        assert set(talk.flushes) - {0} <= talk.positions
    assert any(max(talk.flushes) > 0 for talk in conversations), "nothing was confirmed, so nothing was shown"


# --- while there is no primary


def standby_alone(pipeline: Pipeline, standby: Standby) -> str:
    return pipeline.dsn(host="127.0.0.1", port=standby.port)


def standby_that_is_not_wanted(pipeline: Pipeline, standby: Standby) -> str:
    return pipeline.dsn(host="127.0.0.1", port=standby.port, target_session_attrs="read-write")


DSNS = pytest.mark.parametrize(
    ("make_dsn", "reason"),
    [
        (standby_alone, "is a standby, and only a primary can be read"),
        (standby_that_is_not_wanted, "session is read-only"),
    ],
    ids=["any", "read-write"],
)


@DSNS
def test_a_standby_is_waited_for_and_read_once_it_is_promoted(
    careful: Primary,
    make_pipeline: MakePipeline,
    make_dsn: Callable[[Pipeline, Standby], str],
    reason: str,
) -> None:
    standby = careful.add_standby()
    pipeline = make_pipeline(server=careful, failover=True)
    first = pipeline.start_relay()
    deliver_first(pipeline, careful)
    assert first.stop() == 0

    assert refuses_to_wait(pipeline.start_relay("--no-wait", ready=False, dsn=make_dsn(pipeline, standby)), reason)
    relay = pipeline.start_relay(ready=False, dsn=make_dsn(pipeline, standby))
    wait_for_state(relay, "waiting")
    assert reason in readiness(relay)["reason"]
    fail_over(careful)
    pipeline.insert()
    assert len(pipeline.wait_for_records(2)) == 2
    assert relay.is_running


def refuses_to_wait(relay: RelayProcess, reason: str) -> bool:
    return relay.wait(60) == 3 and reason in relay.stderr and "target_session_attrs=read-write" in relay.stderr
