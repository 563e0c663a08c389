"""A workload's place on the servers: its database and tables, what has been written so far, and the topics.

Every row carries its number, which goes on counting from one backlog to the next: so what arrived can be checked.
"""

from __future__ import annotations

import random
import string
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.bench.servers import Servers
from tests.bench.workloads import Workload
from tests.fixtures.database import Database
from tests.fixtures.outbox import create_lot, create_outbox

__all__ = ["PUBLICATION", "Backlog", "Pace", "Stage"]

PUBLICATION = "bench"
_EMPTY_PAYLOAD_BYTES = len('{"n": 300000, "at": 1700000000000000, "note": ""}')

# The number comes first in the text of the jsonb, which sorts keys by length. Many fillers in turn: the same one in
# each row would flatter compression.
_ROW = """gen_random_uuid(), types || '-' || n % keys % topics, 'k' || n % keys, 'Placed',
           jsonb_build_object('n', n, 'note', (SELECT note FROM filler WHERE number = n % spread),
                              'at', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"""
# One row needs no generate_series, which alone costs 28 us per statement.
_FILL = f"""
CREATE PROCEDURE fill(first int, row_count int, per_transaction int, keys int, topics int, types text, spread int,
                      others int) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  FOR n IN first .. first + row_count - 1 BY per_transaction LOOP
    IF per_transaction = 1 THEN
      INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) VALUES ({_ROW});
    ELSE
      INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)
      SELECT {_ROW} FROM (SELECT * FROM generate_series(n, least(n + per_transaction, first + row_count) - 1)) s (n);
    END IF;
    IF others > 0 THEN
      INSERT INTO other (id, aggregatetype, aggregateid, type, payload)
      SELECT {_ROW} FROM (SELECT * FROM generate_series(1, others)) s (n);
    END IF;
    COMMIT;
  END LOOP;
END $$
"""


# On a clock; one that is late does not make the next ones early. The stamp is taken at once before the commit. Writers
# take every so-many-th number, so that all rows of a key come from one of them.
_STEADY = """
CREATE PROCEDURE steady(first int, writer int, writers int, transactions int, per_transaction int, per_second float8,
                        keys int, types text, note text) LANGUAGE plpgsql AS $$
DECLARE n int := first + writer; due timestamptz := clock_timestamp(); wait float8;
BEGIN
  FOR turn IN 1 .. transactions LOOP
    due := due + make_interval(secs => 1 / per_second);
    wait := extract(epoch FROM due - clock_timestamp());
    IF wait > 0 THEN PERFORM pg_sleep(wait); END IF;
    COMMIT;
    FOR line IN 1 .. per_transaction LOOP
      INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)
      VALUES (gen_random_uuid(), types || '-0', 'k' || n % keys, 'Placed', jsonb_build_object(
          'n', n, 'note', note, 'at', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint));
      n := n + writers;
    END LOOP;
    COMMIT;
  END LOOP;
END $$
"""


@dataclass(frozen=True)
class Backlog:
    """Rows `first` … `first + count - 1`, committed; the position behind them."""

    first: int
    count: int
    end_lsn: str


@dataclass(frozen=True)
class Pace:
    """How a rate is made: sessions, each with so many transactions per second of so many rows."""

    writers: int
    per_second_each: float
    per_transaction: int

    def transactions_each(self, seconds: float) -> int:
        return round(self.per_second_each * seconds)

    def row_count(self, seconds: float) -> int:
        return self.transactions_each(seconds) * self.writers * self.per_transaction


class Stage:
    _tables = "outbox, other"

    def __init__(self, servers: Servers, workload: Workload) -> None:
        self.servers = servers
        self.workload = workload
        self.database = Database(servers.postgres)
        self.written = 0
        fillers = _make_fillers(max(workload.payload_bytes - _EMPTY_PAYLOAD_BYTES, 0))
        self._note, self._spread = fillers[0], len(fillers)
        with self.database.connect() as conn:
            create_lot(conn)
            conn.execute("CREATE TABLE filler (number int PRIMARY KEY, note text)")
            conn.execute("ALTER TABLE filler ALTER note SET STORAGE EXTERNAL")
            with conn.cursor() as cursor:
                cursor.executemany("INSERT INTO filler VALUES (%s, %s)", list(enumerate(fillers)))
            conn.execute("ANALYZE filler")
            self._create(conn)

    def _create(self, conn: psycopg.Connection[Any]) -> None:
        """Tables, the publication, and the procedure fill()."""
        create_outbox(conn)
        conn.execute("CREATE TABLE other (LIKE outbox INCLUDING ALL)")
        for number in range(self.workload.unmapped_columns):
            conn.execute(f"ALTER TABLE outbox ADD unmapped_{number} {_COLUMNS[number % len(_COLUMNS)]}")
        conn.execute(f"CREATE PUBLICATION {PUBLICATION} FOR TABLE outbox WITH (publish = 'insert')")
        conn.execute(_FILL)
        conn.execute(_STEADY)

    def dsn(self) -> str:
        """For peers: encrypted where the workload says so."""
        return self.database.dsn(**self.servers.postgres_params())

    def make_slot(self, slot: str) -> None:
        self.database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [slot])

    def drop_slot(self, slot: str) -> None:
        self.database.execute("SELECT pg_drop_replication_slot(%s)", [slot])

    def make_topics(self, prefix: str) -> list[str]:
        return self.create_topics([f"{prefix}.{name}" for name in self.workload.aggregate_types()])

    def create_topics(self, topics: list[str]) -> list[str]:
        for topic in topics:
            self.servers.kafka.create_topic(topic, self.workload.partitions, {"max.message.bytes": "10000000"})
        return topics

    def fill(self, row_count: int | None = None, *, per_transaction: int | None = None) -> Backlog:
        """Commit rows, all of them flushed when this returns."""
        load = self.workload
        count, per = row_count or load.rows, per_transaction or load.per_transaction
        others = round(per * load.other_share / (1 - load.other_share))
        shape = [load.key_count, load.topic_count, load.name, self._spread, others]
        with self.database.connect() as conn:
            conn.execute("SET synchronous_commit = off")
            conn.execute("CALL fill(%s, %s, %s, %s, %s, %s, %s, %s)", [self.written, count, per, *shape])
            conn.execute("CHECKPOINT")
            [(lsn,)] = conn.execute("SELECT pg_current_wal_flush_lsn()::text").fetchall()
        backlog = Backlog(self.written, count, str(lsn))
        self.written += count
        return backlog

    def write_steadily(self, pace: Pace, seconds: float) -> Backlog:
        """Rows at a rate; returns when the last one is committed."""
        transactions, count = pace.transactions_each(seconds), pace.row_count(seconds)
        shape = [transactions, pace.per_transaction, pace.per_second_each, self.workload.key_count, self.workload.name]

        def write(writer: int) -> None:
            with self.database.connect() as conn:
                arguments = [self.written, writer, pace.writers, *shape, self._note]
                conn.execute("CALL steady(%s, %s, %s, %s, %s, %s, %s, %s, %s)", arguments)

        with ThreadPoolExecutor(pace.writers) as pool:
            list(pool.map(write, range(pace.writers)))
        backlog = Backlog(self.written, count, "")
        self.written += count
        return backlog

    def forget_rows(self) -> None:
        """Between rounds: the size of the table is not what is measured. The publication does not tell of it."""
        self.database.execute(f"TRUNCATE {self._tables}")

    def walsender_pid(self, slot: str) -> int | None:
        query = "SELECT active_pid FROM pg_replication_slots WHERE slot_name = %s"
        [(pid,)] = self.database.execute(query, [slot])
        return None if pid is None else int(pid)

    def is_read(self, slot: str) -> bool:
        return self.walsender_pid(slot) is not None

    def drop(self) -> None:
        self.database.drop()


def _make_fillers(length: int) -> list[str]:
    letters, chance = string.ascii_letters + string.digits + " ", random.Random(8)
    return ["".join(chance.choices(letters, k=length)) for _ in range(1000 if length < 2000 else 10)]


_COLUMNS = (
    "text DEFAULT 'a text that nobody reads'",
    "bigint DEFAULT 1234567890",
    "timestamptz DEFAULT now()",
    "numeric DEFAULT 12345.678",
    "boolean DEFAULT true",
    "text",
)
