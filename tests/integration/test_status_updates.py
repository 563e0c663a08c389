"""Status updates, as they are on the wire: what each session of a relay confirms (promise 3)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fixtures.conversation import Conversation, talks
from tests.fixtures.fix_kafka import Kafka
from tests.fixtures.fix_postgres import Database, PostgresServer
from tests.fixtures.fix_proxy import TcpProxy
from tests.fixtures.fix_relay import Pipeline
from tests.fixtures.process import wait_until
from tests.integration.confirmation_rig import relay_maker, wait_until_confirmed, wal_lsn

pytestmark = [pytest.mark.core, pytest.mark.kafka]


@pytest.fixture(scope="module")
def conversations(
    postgres: PostgresServer, kafka: Kafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Conversation]]:
    """Three sessions of one relay: records and a cut; nothing to settle and a cut; records and a clean end."""
    proxy = TcpProxy("127.0.0.1", postgres.port)
    proxy.record = True
    pipeline = Pipeline(Database(postgres), kafka, relay_maker(tmp_path_factory.mktemp("relay")))
    dsn = pipeline.dsn(port=proxy.port, sslmode="disable", gssencmode="disable")
    relay = pipeline.start_relay(ready=False, dsn=dsn, source={"wal_sender_timeout": "4s"})  # two reports a second
    try:
        relay.wait_ready()
        deliver_one_by_one(pipeline)
        cut_and_wait(proxy)
        wait_until(lambda: len(talks(proxy)[-1].flushes) >= 4, timeout=30, what="an idle session reports several times")
        cut_and_wait(proxy)
        deliver_one_by_one(pipeline)
        relay.stop()
        yield talks(proxy)
    finally:
        relay.kill()
        proxy.close()
        pipeline.database.drop()


def deliver_one_by_one(pipeline: Pipeline) -> None:
    for _ in range(5):
        pipeline.insert()
        wait_until_confirmed(pipeline, wal_lsn(pipeline))


def cut_and_wait(proxy: TcpProxy) -> None:
    count = len(talks(proxy))
    proxy.cut()
    wait_until(lambda: len(talks(proxy)) > count, timeout=30, what="the relay reports on a new connection")


def test_every_session_begins_with_flush_zero(conversations: list[Conversation]) -> None:
    assert [talk.flushes[0] for talk in conversations] == [0, 0, 0]


def test_a_session_that_settled_nothing_confirms_nothing(conversations: list[Conversation]) -> None:
    assert set(conversations[1].flushes) == {0}


def test_a_flush_never_goes_back(conversations: list[Conversation]) -> None:
    assert [talk.flushes for talk in conversations] == [sorted(talk.flushes) for talk in conversations]


def test_only_positions_that_this_session_received_are_confirmed(conversations: list[Conversation]) -> None:
    assert [set(talk.flushes) - talk.positions for talk in conversations] == [{0}, {0}, {0}]


def test_each_transaction_is_confirmed_by_itself(conversations: list[Conversation]) -> None:
    assert len(set(conversations[0].flushes) - {0}) >= 5
