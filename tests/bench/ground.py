"""The servers of the smaller benchmarks, and a backlog for them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from tests.fixtures.kafka_broker import KafkaBroker
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.outbox import create_lot, create_outbox
from tests.fixtures.postgres_install import Install, find_install
from tests.fixtures.postgres_server import PostgresServer

__all__ = ["PUBLICATION", "TOPIC", "Ground", "ground"]

TOPIC = "outbox.event.bench"
PUBLICATION = "bench"
PAYLOAD_BYTES = 270

_FILL = """
CREATE PROCEDURE fill(row_count int, per_transaction int, filler text) LANGUAGE plpgsql AS $$
BEGIN
  FOR number IN 1 .. row_count / per_transaction LOOP
    INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)
    SELECT gen_random_uuid(), 'bench', (number % 1000)::text, 'Placed',
           jsonb_build_object('order', number, 'line', line, 'note', filler)
      FROM generate_series(1, per_transaction) line;
    COMMIT;
  END LOOP;
END $$
"""


@dataclass
class Ground:
    postgres: PostgresServer
    kafka: KafkaBroker
    directory: Path

    def make_slot(self, slot: str) -> None:
        self.postgres.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [slot])

    def drop_slot(self, slot: str) -> None:
        self.postgres.execute("SELECT pg_drop_replication_slot(%s)", [slot])

    def fill(self, row_count: int, *, per_transaction: int) -> str:
        """Commit the backlog; the position behind it."""
        filler = "x" * (PAYLOAD_BYTES - len('{"line": 10, "note": "", "order": 30000}'))
        with self.postgres.connect() as conn:
            conn.execute("SET synchronous_commit = off")
            conn.execute("CALL fill(%s, %s, %s)", [row_count, per_transaction, filler])
            conn.execute("CHECKPOINT")
            [(lsn,)] = conn.execute("SELECT pg_current_wal_flush_lsn()::text").fetchall()
        return str(lsn)

    def end_offset(self, consumer: Consumer) -> int:
        _, high = consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=10)
        return int(high)

    def consumer(self) -> Consumer:
        properties = {"bootstrap.servers": self.kafka.bootstrap, "group.id": "bench", "enable.auto.commit": "false"}
        return Consumer(properties)


@contextmanager
def ground() -> Iterator[Ground]:
    """fsync as in production: the walsender reads what was flushed."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode; so has ours
    install, jars = find_install(18), find_jars()
    if not isinstance(install, Install) or isinstance(jars, str):
        raise SystemExit(f"the benchmark needs both servers: {install}, {jars}")
    with tempfile.TemporaryDirectory() as directory:
        postgres = PostgresServer(install, fsync=True, max_wal_size="4GB", shared_buffers="256MB")
        kafka = KafkaBroker(jars)
        try:
            postgres.start()
            kafka.start()
            kafka.create_topic(TOPIC)
            with postgres.connect() as conn:
                create_outbox(conn)
                create_lot(conn)
                conn.execute(f"CREATE PUBLICATION {PUBLICATION} FOR TABLE outbox WITH (publish = 'insert')")
                conn.execute(_FILL)
            yield Ground(postgres, kafka, Path(directory))
        finally:
            kafka.destroy()
            postgres.destroy()
