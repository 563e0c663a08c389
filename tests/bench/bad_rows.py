"""What unpublishable events cost: a relay that is caught up drains a backlog with one bad row in a hundred, in ten
ways, and one without, in turn. Counted are events settled: on their topic, or in the lot.

While the clock runs, both are watched in the same way, by the topics' end offsets: a count of the lot would cost
Postgres in one of them alone. When the lot had its last row, the row itself tells.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.bench.arrival import STALL_SECONDS, watch_arrival
from tests.bench.check import Delivered
from tests.bench.inspection import read_range
from tests.bench.processes import hold, release
from tests.bench.servers import Servers
from tests.bench.watch import Watch
from tests.fixtures.bad_rows import EVERY, GOOD_TOPICS, PUBLICATION, config_sections, create_tables, create_topics, fill
from tests.fixtures.database import Database
from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import RelayProcess, relay_config

__all__ = ["BadRows", "bad_rows"]

SETTLE_SECONDS = 1.0
PREFIX = "bad"
KEYS = 1000


class BadRows:
    """One relay over the outboxes of tests/fixtures/bad_rows.py, its walsender held between the drains."""

    def __init__(self, place: Servers) -> None:
        self._place = place
        self._database = Database(place.postgres)
        self._slot = f"{self._database.name}_bad"
        with self._database.connect() as conn:
            create_tables(conn)
            conn.execute("ALTER TABLE legacy ADD type text")  # a start wants it
        self._database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [self._slot])
        create_topics(place.kafka, PREFIX)
        self._watch = Watch(place.kafka.bootstrap, [f"{PREFIX}.{name}" for name in GOOD_TOPICS], 1)
        self.relay = RelayProcess(self._config(), place.directory / self._slot)
        self._walsender = 0

    def start(self) -> None:
        self.relay.start().wait_ready()
        query = "SELECT active_pid FROM pg_replication_slots WHERE slot_name = %s AND active_pid > 0"
        wait_until(lambda: bool(self._database.execute(query, [self._slot])), timeout=30, what="the slot is read")
        [(self._walsender,)] = self._database.execute(query, [self._slot])
        time.sleep(SETTLE_SECONDS)  # held while it starts, a walsender may hold a lock that everybody needs

    def stop(self) -> None:
        release([self._walsender])
        self.relay.stop()
        self._database.drop()

    def drain(self, row_count: int, *, with_bad: bool, with_large: bool = False) -> float:
        """Events settled per second."""
        hold([self._walsender])
        self._fill(row_count, with_bad=with_bad, with_large=with_large)
        bad_count = row_count // EVERY if with_bad else 0
        before, parked = self._watch.ends(), self._parked_count()
        started = time.monotonic()
        release([self._walsender])
        ended = self._await_delivered(sum(before.values()), row_count - bad_count)
        ended = self._await_parked(parked + bad_count, ended) if bad_count else ended
        self._check(before, row_count, bad_count)
        return row_count / (ended - started)

    def _fill(self, row_count: int, *, with_bad: bool, with_large: bool) -> None:
        """`legacy` lacks its column while its rows are written, and only then."""
        with self._database.connect() as conn:
            conn.execute("SET synchronous_commit = off")
            conn.execute("TRUNCATE outbox, legacy")
            conn.execute("ALTER TABLE legacy DROP type")
            fill(conn, row_count, per_transaction=10, with_bad=with_bad, with_large=with_large)
            conn.execute("CHECKPOINT")

    def _await_delivered(self, before: int, count: int) -> float:
        """When the last one was on its topic, by the monotonic clock."""
        with self._complaining():
            pause = self._watch.pause_seconds
            return watch_arrival(self._watch.count, before, before + count, pause_seconds=pause).last_at

    def _await_parked(self, count: int, delivered_at: float) -> float:
        """When the last one was in the lot, too. Asked only now: counting costs Postgres something."""
        if self._parked_count() >= count:
            return delivered_at
        with self._complaining():
            what = f"{count} records are parked"
            wait_until(lambda: self._parked_count() >= count, timeout=STALL_SECONDS, what=what, every=0.01)
        return time.monotonic()

    @contextmanager
    def _complaining(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError as exc:
            raise SystemExit(f"the relay did not get on with bad rows: {exc}:\n{self.relay.stderr[-4000:]}") from exc

    def _check(self, before: dict[tuple[str, int], int], row_count: int, bad_count: int) -> None:
        found = Delivered(1, row_count, KEYS)
        read_range(self._place.kafka.bootstrap, before, self._watch.ends(), found)
        verdict = found.verdict()
        if (verdict.missing, verdict.phantoms, verdict.reordered) != (bad_count, 0, 0):
            raise SystemExit(f"a failed run with {bad_count} bad rows: {verdict}")

    def _parked_count(self) -> int:
        [(count,)] = self._database.execute("SELECT count(*) FROM cdc_relay.parked_records")
        return int(count)

    def _config(self) -> dict[str, object]:
        dsn, bootstrap = self._database.dsn(), self._place.kafka.bootstrap
        config = relay_config(dsn, self._slot, PUBLICATION, "public.outbox", bootstrap, **config_sections(PREFIX))
        config["source"]["wal_sender_timeout"] = "1h"
        return config


@contextmanager
def bad_rows(place: Servers) -> Iterator[BadRows]:
    rows = BadRows(place)
    try:
        rows.start()
        yield rows
        rows.stop()
    finally:
        if rows.relay.is_running:
            rows.relay.kill()
