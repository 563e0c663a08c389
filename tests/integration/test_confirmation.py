"""How far the slot is confirmed (promises 2 to 5): never past what is unacknowledged, always up to what is settled.

What needs a frozen broker is observed once, on two pipelines at the same time, and judged by several tests.
"""

from __future__ import annotations

import http.client
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cdc_relay.protocol import wire
from tests.fixtures.fix_kafka import Kafka, KafkaBroker
from tests.fixtures.fix_postgres import Database, PostgresServer
from tests.fixtures.fix_proxy import TcpProxy
from tests.fixtures.fix_relay import MakeRelay, Pipeline, RelayProcess
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.outbox import insert_events
from tests.fixtures.process import wait_until
from tests.fixtures.proxied_line import Line
from tests.fixtures.relay_process import Config

pytestmark = [pytest.mark.core, pytest.mark.kafka]

ROW_COUNT, ROW_BYTES = 1000, 10_000  # more than fits between a walsender and a reader that does not read
WAL_SENDER_TIMEOUT = timedelta(seconds=2)
IMPATIENT = {"wal_sender_timeout": f"{WAL_SENDER_TIMEOUT.seconds}s"}
WRITE_ELSEWHERE = "INSERT INTO elsewhere SELECT repeat('x', 1000) FROM generate_series(1, 100)"
READER = """
SELECT clock_timestamp(), s.confirmed_flush_lsn - '0/0', s.active_pid, r.reply_time
  FROM pg_replication_slots s LEFT JOIN pg_stat_replication r ON r.pid = s.active_pid
 WHERE s.slot_name = %s
"""


def wal_lsn(pipeline: Pipeline) -> int:
    [(lsn,)] = pipeline.database.execute("SELECT pg_current_wal_insert_lsn() - '0/0'")
    return int(lsn)


def wait_until_confirmed(pipeline: Pipeline, lsn: int, *, timeout: float = 60) -> None:
    wait_until(lambda: pipeline.confirmed_lsn() >= lsn, timeout=timeout, what="the slot follows")


# --- a broker that does not answer


@dataclass
class Observed:
    """One pipeline while its broker was frozen."""

    pipeline: Pipeline
    relay: RelayProcess
    lsn_before: int = 0  # where the transaction begins that was not acknowledged
    lsn_after: int = 0
    row_count: int = 0
    times: list[datetime] = field(default_factory=list)  # when it was looked at, by the server's clock
    confirmed: set[int] = field(default_factory=set)
    reader_pids: set[int | None] = field(default_factory=set)
    silences: list[timedelta] = field(default_factory=list)  # since the last status update

    def sample(self) -> None:
        [(now, confirmed, pid, reply_time)] = self.pipeline.database.execute(READER, [self.pipeline.slot])
        self.times.append(now)
        self.confirmed.add(int(confirmed))
        self.reader_pids.add(pid)
        self.silences.append(now - (reply_time or self.times[0]))

    def lag_seen_bytes(self) -> int:
        """What the relay's last look at the catalog found."""
        try:
            return int(json.loads(self.relay.get("/readyz")[1])["slot_lag_bytes"] or 0)
        except (OSError, http.client.HTTPException):
            return 0


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    jars = find_jars()
    assert isinstance(jars, Path)  # the mark real_kafka has seen to it
    kafka = KafkaBroker(jars)
    try:
        kafka.start()
        yield kafka
    finally:
        kafka.destroy()


@pytest.fixture(scope="module")
def frozen(
    postgres: PostgresServer, broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Observed]]:
    """`read`: one small transaction, read and unacknowledged. `half-read`: a large one that filled the window."""
    window = {"window": {"records": 10}}
    seen: dict[str, Observed] = {}
    try:
        seen["read"] = start_one(Database(postgres), broker, tmp_path_factory.mktemp("read"))
        seen["half-read"] = start_one(
            Database(postgres), broker, tmp_path_factory.mktemp("half"), source=IMPATIENT, delivery=window
        )
        for each in seen.values():
            settle_one(each)
        broker.freeze()
        try:
            write_one(seen["read"], 1)
            write_one(seen["half-read"], ROW_COUNT)
            observe(seen)
        finally:
            broker.thaw()
        yield seen
    finally:
        for each in seen.values():
            each.relay.kill()
            each.pipeline.database.drop()


def start_one(database: Database, kafka: KafkaBroker, directory: Path, **config: Any) -> Observed:
    pipeline = Pipeline(database, kafka, relay_maker(directory))
    database.execute("CREATE TABLE elsewhere (filler text)")
    return Observed(pipeline, pipeline.start_relay(ready=False, **config))


def relay_maker(directory: Path) -> MakeRelay:
    def make(config: Config, *arguments: str) -> RelayProcess:
        return RelayProcess(config, directory, *arguments).start()

    return make


def settle_one(one: Observed) -> None:
    """One record delivered and confirmed: the producer knows its broker and topic."""
    one.relay.wait_ready(timeout=60)
    one.pipeline.insert()
    wait_until_confirmed(one.pipeline, wal_lsn(one.pipeline))


def write_one(one: Observed, row_count: int) -> None:
    one.lsn_before = wal_lsn(one.pipeline)
    with one.pipeline.database.connect() as conn:
        insert_events(conn, row_count, one.pipeline.aggregate_type, payload_bytes=ROW_BYTES)
    one.row_count = row_count
    one.lsn_after = wal_lsn(one.pipeline)


def observe(seen: dict[str, Observed]) -> None:
    """For three walsender time-outs and a look at the catalog after later writes; then as long as a report takes."""
    read = seen["read"]
    looked_at: list[datetime] = []

    def is_enough() -> bool:
        for one in seen.values():
            one.sample()
            one.pipeline.database.execute(WRITE_ELSEWHERE)
        now = read.times[-1]
        if now - read.times[0] > 3 * WAL_SENDER_TIMEOUT and read.lag_seen_bytes() > 500_000:
            looked_at.append(now)
        return bool(looked_at) and now - looked_at[0] > timedelta(seconds=2)

    wait_until(is_enough, timeout=90, every=0.1, what="the relay has looked at the catalog")


@pytest.fixture(params=["read", "half-read"])
def one(request: pytest.FixtureRequest, frozen: dict[str, Observed]) -> Observed:
    return frozen[request.param]


@pytest.mark.real_kafka
def test_the_slot_stays_before_a_transaction_that_is_not_acknowledged(one: Observed) -> None:
    assert max(one.confirmed) <= one.lsn_before


@pytest.mark.real_kafka
def test_status_updates_flow_while_the_broker_is_away(one: Observed) -> None:
    assert max(one.silences) < timedelta(seconds=5)  # half of the usual wal_sender_timeout; one a second is the rule


@pytest.mark.real_kafka
def test_the_walsender_is_not_timed_out_while_the_broker_is_away(one: Observed) -> None:
    assert len(one.reader_pids) == 1


@pytest.mark.real_kafka
def test_the_slot_follows_when_the_broker_answers_again(one: Observed) -> None:
    wait_until_confirmed(one.pipeline, one.lsn_after)


@pytest.mark.real_kafka
def test_what_was_held_arrives_once_when_the_broker_answers_again(one: Observed) -> None:
    wait_until_confirmed(one.pipeline, one.lsn_after)
    ids = [str(record.headers()) for record in one.pipeline.records()]
    assert (len(ids), len(set(ids))) == (1 + one.row_count, 1 + one.row_count)


# --- an idle outbox


def test_an_idle_outbox_in_a_database_that_writes_elsewhere_lets_the_slot_follow(pipeline: Pipeline) -> None:
    pipeline.database.execute("CREATE TABLE elsewhere (filler text)")
    pipeline.start_relay()
    pipeline.database.execute(WRITE_ELSEWHERE)
    lsn = wal_lsn(pipeline)
    wait_until_confirmed(pipeline, lsn, timeout=30)


# --- status updates, as they are on the wire


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
    dsn = pipeline.database.dsn(port=proxy.port, sslmode="disable", gssencmode="disable")
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
