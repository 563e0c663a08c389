"""Promises that no other test on real servers would see broken: see `python -m tests.breakage`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_postgres import MakePostgres
from tests.fixtures.fix_proxy import MakeProxy, TcpProxy
from tests.fixtures.fix_relay import MakePipeline, Pipeline
from tests.fixtures.outbox import insert_events
from tests.fixtures.process import wait_until
from tests.integration.promise_rig import IMPATIENT, cut, event_ids, open_records, readiness, run_cut_off, wal_lsn

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]

ON_THE_LINE = 2000  # rows: several turns of the loop, and less than a socket holds


@pytest.fixture(scope="module")
def cut_off() -> Iterator[tuple[KafkaBroker, TcpProxy]]:
    yield from run_cut_off()


# --- a line that was lost (promises 1 and 16)


def test_what_was_queued_when_the_line_broke_is_read_again_and_published_once(
    make_pipeline: MakePipeline, cut_off: tuple[KafkaBroker, TcpProxy]
) -> None:
    """It never left the relay, so nothing excuses a duplicate."""
    broker, proxy = cut_off
    pipeline = make_pipeline(kafka=broker)
    relay = pipeline.start_relay(bootstrap=proxy.address)
    cut(proxy)
    try:
        ids = [pipeline.insert() for _ in range(3)]
        wait_until(lambda: open_records(relay) == 3, timeout=30, what="three records are queued")
        pipeline.database.terminate_walsenders()
        relay.wait_for_log('"state": "waiting"')
    finally:
        proxy.accept()
    relay.wait_for_log('"state": "streaming"', count=2)
    last = pipeline.insert()
    wait_until(lambda: last in event_ids(pipeline), timeout=60, what="the last event is on the topic")
    assert event_ids(pipeline) == [*ids, last]


def test_a_relay_that_stood_still_publishes_nothing_of_what_it_finds_on_its_line(pipeline: Pipeline) -> None:
    """Its slot belongs to another by then, who has published it. Without linger, whatever is produced is soon sent."""
    paused = pipeline.start_relay(source=IMPATIENT, sink={"kafka": {"linger.ms": 0}})
    heir = pipeline.start_relay(ready=False, source=IMPATIENT)
    heir.wait_for_log('"state": "standby"')
    paused.pause()
    try:
        with pipeline.database.connect() as conn:
            insert_events(conn, ON_THE_LINE, pipeline.aggregate_type)
        end = wal_lsn(pipeline)
        wait_until(lambda: pipeline.confirmed_lsn() >= end, timeout=60, what="the heir publishes everything")
    finally:
        paused.resume()
    paused.wait_for_log('"state": "standby"')
    assert len(event_ids(pipeline)) == ON_THE_LINE


# --- a stop (promise 10)

BACKLOG = 30_000
WRITE_BACKLOG = """
DO $$ BEGIN
  FOR n IN 1..{count} LOOP
    INSERT INTO outbox VALUES (gen_random_uuid(), '{aggregate_type}', 'k', 'T', '{{}}');
    COMMIT;
  END LOOP;
END $$
"""


def test_a_stop_in_the_middle_of_a_backlog_confirms_what_was_delivered(
    pipeline: Pipeline, make_proxy: MakeProxy
) -> None:
    """Over a network that takes its time: closing a socket with unread data resets the line, and whatever was on its
    way to Postgres is lost."""
    proxy = make_proxy("127.0.0.1", pipeline.database.server.port)
    pipeline.database.execute(WRITE_BACKLOG.format(count=BACKLOG, aggregate_type=pipeline.aggregate_type))
    relay = pipeline.start_relay(dsn=pipeline.dsn(port=proxy.port))
    wait_until(lambda: readiness(relay).get("published_records", 0) > 0, timeout=30, every=0.01, what="records flow")
    proxy.delay(0.2, "to_server")
    assert relay.stop() == 0
    assert len(pipeline.records()) < BACKLOG, "it was too fast, so nothing was shown"

    pipeline.start_relay()
    end = wal_lsn(pipeline)
    wait_until(lambda: pipeline.confirmed_lsn() >= end, timeout=60, what="the backlog is done")
    assert len(pipeline.records()) <= BACKLOG + 1  # a transaction that was read by half comes again


def test_a_stop_waits_for_what_is_in_flight(make_pipeline: MakePipeline, cut_off: tuple[KafkaBroker, TcpProxy]) -> None:
    broker, proxy = cut_off
    pipeline = make_pipeline(kafka=broker)
    relay = pipeline.start_relay(bootstrap=proxy.address)
    cut(proxy)
    try:
        ids = [pipeline.insert() for _ in range(3)]
        end = wal_lsn(pipeline)
        wait_until(lambda: open_records(relay) == 3, timeout=30, what="three records are in flight")
        relay.terminate()
        relay.wait_for_log('"state": "stopping"')
    finally:
        proxy.accept()
    assert relay.wait(35) == 0
    assert event_ids(pipeline) == ids
    assert pipeline.confirmed_lsn() >= end


# --- a synchronous standby (promise 13)


def test_a_relay_that_would_be_a_synchronous_standby_is_refused_before_it_streams(
    make_postgres: MakePostgres, make_pipeline: MakePipeline
) -> None:
    """Its sync_state would tell it only later, when commits have begun to wait for it."""
    server = make_postgres(synchronous_commit="local", synchronous_standby_names="*")
    relay = make_pipeline(server=server).start_relay(ready=False)
    assert relay.wait(60) == 3
    assert '"state": "streaming"' not in relay.stderr
    assert "a synchronous standby" in relay.stderr
