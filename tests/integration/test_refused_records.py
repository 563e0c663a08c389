"""A record that cannot be published stops the relay: exit 3, the slot before its transaction, and nothing skipped.

Each case has three transactions in the slot before its relay starts: a good one, the bad one, another good one. All
relays run at the same time and are judged by several tests.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.fixtures.consume import wait_for_records
from tests.fixtures.fix_kafka import KafkaBroker
from tests.fixtures.fix_postgres import Database, PostgresServer
from tests.fixtures.fix_relay import MakeRelay, Pipeline, RelayProcess
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import Config

pytestmark = [pytest.mark.kafka, pytest.mark.real_kafka]

IMPATIENT = {"topic.metadata.propagation.max.ms": 1000}  # how long a missing topic is taken for a new one
BIG = json.dumps({"pad": "x" * 1_200_000})  # librdkafka's own limit is 1,000,000


@dataclass(frozen=True)
class Bad:
    """A row that cannot be published, the words it is refused with, and how the cause is removed."""

    aggregate_type: Callable[[Pipeline], str | None]
    words: tuple[str, ...]
    payload: str = "{}"
    kafka: dict[str, Any] = field(default_factory=dict)  # sink.kafka after the repair
    repair: Callable[[Pipeline], None] = lambda pipeline: None


def own_type(pipeline: Pipeline) -> str:
    return pipeline.aggregate_type


def missing_type(pipeline: Pipeline) -> str:
    return f"{pipeline.aggregate_type}-missing"


def create_missing_topic(pipeline: Pipeline) -> None:
    pipeline.kafka.create_topic(f"{pipeline.topic}-missing")


UNPUBLISHABLE = {
    "no aggregate type": Bad(lambda _: None, ("column aggregatetype is NULL and names the topic", "[null_in_topic]")),
    "illegal topic name": Bad(lambda _: "a/b", ("column aggregatetype makes a topic name that Kafka does not allow",)),
}
REPAIRABLE = {
    "larger than message.max.bytes": Bad(
        own_type,
        ("Message size too large", "what to do: raise message.max.bytes under sink.kafka"),
        payload=BIG,
        kafka={"message.max.bytes": 5_000_000},
    ),
    "missing topic": Bad(
        missing_type,
        ("Unknown topic or partition", "what to do: create the topic"),
        repair=create_missing_topic,
    ),
}
CASES = {**UNPUBLISHABLE, **REPAIRABLE}


@dataclass
class Refused:
    """A pipeline and its relay, which has ended."""

    bad: Bad
    pipeline: Pipeline
    relay: RelayProcess
    ids: tuple[str, str, str]  # before, bad, after
    lsns: tuple[int, int, int]  # of the WAL before each of the three

    def start_again(self) -> RelayProcess:
        return self.pipeline.start_relay(ready=False, sink={"kafka": {**IMPATIENT, **self.bad.kafka}})


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    """One that makes no topics by itself."""
    jars = find_jars()
    assert isinstance(jars, Path)  # the mark real_kafka has seen to it
    kafka = KafkaBroker(jars, {"auto.create.topics.enable": False})
    try:
        kafka.start()
        yield kafka
    finally:
        kafka.destroy()


@pytest.fixture(scope="module")
def refused(
    postgres: PostgresServer, broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Refused]]:
    cases: dict[str, Refused] = {}
    try:
        for name, bad in CASES.items():
            cases[name] = start_case(Database(postgres), broker, tmp_path_factory.mktemp("relay"), bad)
        for case in cases.values():
            case.relay.wait()
        yield cases
    finally:
        for case in cases.values():
            case.relay.kill()
            case.pipeline.database.drop()


def start_case(database: Database, kafka: KafkaBroker, directory: Path, bad: Bad) -> Refused:
    pipeline = make_pipeline_in(database, kafka, directory)
    with database.connect() as conn:
        rows = [(own_type(pipeline), "{}"), (bad.aggregate_type(pipeline), bad.payload), (own_type(pipeline), "{}")]
        written = [(wal_lsn(conn), insert(conn, *row)) for row in rows]
    lsns, ids = zip(*written, strict=True)
    relay = pipeline.start_relay(ready=False, sink={"kafka": IMPATIENT})
    return Refused(bad, pipeline, relay, ids, lsns)


def make_pipeline_in(database: Database, kafka: KafkaBroker, directory: Path) -> Pipeline:
    pipeline = Pipeline(database, kafka, relay_maker(directory), topic_config={"max.message.bytes": "5000000"})
    database.execute("ALTER TABLE outbox ALTER aggregatetype DROP NOT NULL")
    return pipeline


def relay_maker(directory: Path) -> MakeRelay:
    def make(config: Config, *arguments: str) -> RelayProcess:
        return RelayProcess(config, directory / uuid.uuid4().hex, *arguments).start()

    return make


def insert(conn: psycopg.Connection[Any], aggregate_type: str | None, payload: str) -> str:
    event_id = str(uuid.uuid4())
    conn.execute("INSERT INTO outbox VALUES (%s, %s, 'k', 'T', %s)", [event_id, aggregate_type, payload])
    return event_id


def wal_lsn(conn: psycopg.Connection[Any]) -> int:
    [(lsn,)] = conn.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchall()
    return int(lsn)


def delivered_ids(pipeline: Pipeline) -> list[str]:
    return [id_of(record.headers()) for record in pipeline.records()]


def id_of(headers: Any) -> str:
    [(name, value)] = headers
    assert name == "id"
    return str(value.decode())


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, refused: dict[str, Refused]) -> Refused:
    return refused[request.param]


def test_a_record_that_cannot_be_published_ends_the_relay_with_3(case: Refused) -> None:
    assert case.relay.returncode == 3, case.relay.stderr
    assert "Traceback" not in case.relay.stderr


def test_the_message_names_the_row_and_its_table(case: Refused) -> None:
    assert f"row id={case.ids[1]} of public.outbox" in case.relay.stderr


def test_the_message_says_why_and_what_to_do(case: Refused) -> None:
    assert [words for words in ("what to do: ", *case.bad.words) if words not in case.relay.stderr] == []


def test_the_slot_stays_before_the_transaction_of_a_refused_record(case: Refused) -> None:
    assert case.pipeline.confirmed_lsn() <= case.lsns[1]


def test_what_was_delivered_before_a_refused_record_is_confirmed(case: Refused) -> None:
    assert case.pipeline.confirmed_lsn() > case.lsns[0]


def test_a_restart_without_a_repair_refuses_the_same_record(refused: dict[str, Refused]) -> None:
    case = refused["no aggregate type"]
    again = case.pipeline.start_relay(ready=False)
    assert again.wait() == 3
    assert f"row id={case.ids[1]} of public.outbox" in again.stderr


@pytest.mark.parametrize("name", REPAIRABLE)
def test_after_the_repair_a_restart_delivers_the_refused_record_and_all_later_ones(
    name: str, refused: dict[str, Refused]
) -> None:
    case = refused[name]
    case.bad.repair(case.pipeline)
    relay = case.start_again().wait_ready()
    bad_topic = f"outbox.event.{case.bad.aggregate_type(case.pipeline)}"
    wait_until(
        lambda: set(case.ids) <= {*delivered_ids(case.pipeline), *ids_on(case.pipeline, bad_topic)},
        timeout=60,
        what="all three are on their topics",
    )
    assert relay.stop() == 0


@pytest.mark.parametrize("name", UNPUBLISHABLE)
def test_the_printed_remedy_lets_the_relay_go_on_after_a_row_that_no_repair_can_change(
    name: str, refused: dict[str, Refused]
) -> None:
    """The row is in the WAL as it was inserted: the way out is to insert it anew and to move the slot past it."""
    case = refused[name]
    found = re.search(r"(SELECT pg_replication_slot_advance\(.*?\))[;\s]", case.relay.stderr)
    assert found, case.relay.stderr
    case.pipeline.database.execute(found.group(1))
    relay = case.start_again().wait_ready()
    wait_until(lambda: case.ids[2] in delivered_ids(case.pipeline), timeout=60, what="the last one is on its topic")
    assert relay.stop() == 0


def ids_on(pipeline: Pipeline, topic: str) -> list[str]:
    return [id_of(record.headers()) for record in wait_for_records(pipeline.kafka.bootstrap, topic, 1)]


# --- several at once


@pytest.fixture
def two_refused(postgres: PostgresServer, broker: KafkaBroker, tmp_path: Path) -> Iterator[Refused]:
    """A row without a topic, refused by us at once; then one that the broker refuses while we take our leave."""
    database = Database(postgres)
    pipeline = make_pipeline_in(database, broker, tmp_path)
    broker.create_topic(f"{pipeline.topic}-small", config={"max.message.bytes": "1000"})
    with database.connect() as conn:
        lsn = wal_lsn(conn)
        first = insert(conn, own_type(pipeline), "{}")
        bad = insert(conn, None, "{}")
        last = insert(conn, f"{pipeline.aggregate_type}-small", json.dumps({"pad": "x" * 5000}))
    relay = pipeline.start_relay(ready=False)
    relay.wait()
    yield Refused(CASES["no aggregate type"], pipeline, relay, (first, bad, last), (lsn, 0, 0))
    relay.kill()
    database.drop()


def test_of_two_refused_records_the_first_is_named(two_refused: Refused) -> None:
    assert two_refused.relay.returncode == 3
    assert f"row id={two_refused.ids[1]} of public.outbox" in two_refused.relay.stderr


def test_a_second_refused_record_does_not_keep_the_first_good_one_from_being_confirmed(two_refused: Refused) -> None:
    assert two_refused.pipeline.confirmed_lsn() > two_refused.lsns[0]
