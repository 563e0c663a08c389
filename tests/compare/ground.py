"""The servers of a comparison, and a case's place on them: its table, slots and topic, and a reader of the topic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from confluent_kafka import Consumer, Message, TopicPartition

from cdc_relay.protocol.messages import Column, Insert, Relation, Type
from cdc_relay.protocol.pgoutput import Decoder
from cdc_relay.routing.domains import Domains
from tests.compare.case import Case
from tests.compare.connect_worker import ConnectWorker, find_connect_jars
from tests.compare.golden import Values
from tests.compare.wire import Wire, spell
from tests.fixtures.consume import consumer, end_offsets, good_messages
from tests.fixtures.database import Database
from tests.fixtures.kafka_broker import KafkaBroker
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.outbox import create_lot
from tests.fixtures.postgres_install import Install, find_install
from tests.fixtures.postgres_server import PostgresServer

__all__ = ["Ground", "Place", "Reader", "ground", "headers_of"]

PARTITIONS = 4
# What the relay pins for its walsender: rows in the golden file look as its slot would send them.
_PINNED = "-c datestyle=ISO -c timezone=UTC -c bytea_output=hex -c extra_float_digits=3"


class Reader:
    """Reads what comes to a topic from now on."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._consumer: Consumer = consumer(bootstrap)
        ends = end_offsets(self._consumer, [topic])
        self._consumer.assign([TopicPartition(topic, number, offset) for (_, number), offset in ends.items()])

    def poll(self) -> Message | None:
        messages = good_messages(self._consumer.consume(1, timeout=0.1))
        return messages[0] if messages else None

    def close(self) -> None:
        self._consumer.close()


@dataclass
class Ground:
    database: Database
    kafka: KafkaBroker
    connect: ConnectWorker

    def place(self, case: Case) -> Place:
        """The relay's slot and the one for the golden rows start before the first row; Debezium's come one by one."""
        place = Place(self, case)
        columns = ", ".join(f"{name} {sql}" for name, sql in case.table_columns.items())
        for sql in case.setup:
            self.database.execute(sql)
        self.database.execute(f"CREATE TABLE {case.name} ({columns})")
        self.database.execute(f"CREATE PUBLICATION {case.name} FOR TABLE {case.name} WITH (publish = 'insert')")
        for slot in (place.rows_slot, place.relay_slot):
            self.make_slot(slot)
        self.kafka.create_topic(case.topic_name, PARTITIONS)
        return place

    def make_slot(self, slot: str) -> None:
        self.database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [slot])


@dataclass(frozen=True)
class Place:
    ground: Ground
    case: Case

    @property
    def rows_slot(self) -> str:
        return f"rows_{self.case.name}"

    @property
    def relay_slot(self) -> str:
        return f"relay_{self.case.name}"

    def reader(self) -> Reader:
        return Reader(self.ground.kafka.bootstrap, self.case.topic_name)

    def insert(self, row: str) -> None:
        values = self.case.values(row)
        marks = ", ".join(["%s"] * len(values))
        sql = f"INSERT INTO {self.case.name} ({', '.join(values)}) VALUES ({marks})"
        self.ground.database.execute(sql, list(values.values()))

    def streamed(self) -> tuple[tuple[Column, ...], dict[str, Values]]:
        """The table's columns and its rows, in the order of the stream, as pgoutput sends them."""
        query = "SELECT data FROM pg_logical_slot_get_binary_changes(%s, NULL, NULL, %s, '1', %s, %s)"
        options = [self.rows_slot, "proto_version", "publication_names", self.case.name]
        with self.ground.database.connect(options=_PINNED) as conn:
            changes = [bytes(data) for (data,) in conn.execute(query, options).fetchall()]
        messages = [Decoder().decode(change) for change in changes]
        domains = Domains()
        for message in messages:
            if isinstance(message, Type):
                domains.learn(message)
        [columns] = {domains.resolve(message).columns for message in messages if isinstance(message, Relation)}
        rows = [message.row for message in messages if isinstance(message, Insert)]
        return columns, dict(zip(self.case.rows, (_whole(row) for row in rows), strict=True))

    def wire(self, message: Message, row: str) -> Wire:
        """Without what nothing in the row decides, or the golden file would change with each run."""
        values, kind_and_time = self.case.values(row), message.timestamp()
        is_placed = message.key() is not None or (self.case.is_placed and values["part"] is not None)
        is_stamped = self.case.is_stamped and values["occurred_at"] is not None
        return Wire(
            topic=str(message.topic()),
            partition=message.partition() if is_placed else None,
            key=spell(_bytes(message.key())),
            value=spell(_bytes(message.value())),
            headers=[(name, spell(value)) for name, value in headers_of(message)],
            timestamp_ms=kind_and_time[1] if is_stamped else None,
        )


def headers_of(message: Message) -> list[tuple[str, bytes | None]]:
    sent = cast("list[tuple[str, str | bytes | None]]", message.headers() or [])
    return [(name, _bytes(value)) for name, value in sent]


@contextmanager
def ground() -> Iterator[Ground]:
    install, jars, connect_jars = find_install(18), find_jars(), find_connect_jars()
    if not isinstance(install, Install) or isinstance(jars, str) or isinstance(connect_jars, str):
        raise SystemExit(f"the comparison needs Postgres, Kafka and Debezium: {install}, {jars}, {connect_jars}")
    postgres, kafka = PostgresServer(install, max_replication_slots=200), KafkaBroker(jars)
    connect = ConnectWorker(connect_jars, kafka.bootstrap)
    try:
        postgres.start()
        kafka.start()
        connect.start()
        database = Database(postgres)
        with database.connect() as conn:
            create_lot(conn)
        yield Ground(database, kafka, connect)
    finally:
        connect.destroy()
        kafka.destroy()
        postgres.destroy()


def _whole(row: tuple[object, ...]) -> Values:
    assert all(value is None or isinstance(value, bytes) for value in row), "an insert has every value"
    return tuple(value if isinstance(value, bytes) else None for value in row)


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
