"""Status updates, as they are on the wire: what each session of a relay confirms (promise 3)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from cdc_relay.protocol import wire
from tests.fixtures.fix_kafka import Kafka
from tests.fixtures.fix_postgres import Database, PostgresServer
from tests.fixtures.fix_proxy import TcpProxy
from tests.fixtures.fix_relay import Pipeline
from tests.fixtures.process import wait_until
from tests.fixtures.proxied_line import Line
from tests.integration.confirmation_rig import relay_maker, wait_until_confirmed, wal_lsn

pytestmark = [pytest.mark.core, pytest.mark.kafka]


@dataclass
class Conversation:
    """One replication connection as the proxy saw it."""

    flushes: list[int]  # of our status updates, in order
    positions: set[int]  # commit ends and keepalives that Postgres sent


def messages(raw: bytes, offset: int) -> Iterator[tuple[bytes, bytes]]:
    """(type, body) of each whole message of the frontend/backend protocol."""
    while offset + 5 <= len(raw):
        (size,) = struct.unpack_from(">I", raw, offset + 1)
        if offset + 1 + size > len(raw):
            return
        yield raw[offset : offset + 1], raw[offset + 5 : offset + 1 + size]
        offset += 1 + size


def copy_data(raw: bytes, offset: int) -> Iterator[bytes]:
    return (body for kind, body in messages(raw, offset) if kind == b"d")


def conversation(line: Line) -> Conversation | None:
    """None for the catalog's connections, and until a status update was sent."""
    sent, received = line.recorded("to_server"), line.recorded("to_client")
    startup_size = struct.unpack_from(">I", sent)[0] if sent[:1] == b"\0" else 0  # it has no type
    flushes = [wire.parse_status(frame).flush_lsn for frame in copy_data(sent, startup_size)]
    positions = {position for frame in copy_data(received, 0) if (position := position_of(frame))}
    return Conversation(flushes, positions) if flushes else None


def position_of(frame: bytes) -> int:
    if frame[0] == wire.KEEPALIVE:
        return wire.parse_keepalive(frame).wal_end
    payload = frame[wire.PAYLOAD_OFFSET :]
    if payload[:1] == b"C":  # Commit: flags, commit LSN, end LSN
        return int(struct.unpack_from(">Q", payload, 10)[0])
    return 0


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


def talks(proxy: TcpProxy) -> list[Conversation]:
    found = (conversation(line) for line in proxy.connections)
    return [talk for talk in found if talk is not None]


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
