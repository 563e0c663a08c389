"""What parked records cost a relay that drains nothing: its start over them, and the CPU with nothing to do.

Also fills the lot, by SQL alone. The relay is stopped and started here; it runs when this is done, and is not held.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import psycopg

from tests.bench.hot import HotStage
from tests.bench.peers.relay import Relay
from tests.bench.stage import Stage

__all__ = ["ParkedStage", "fill_lot", "look_at_rest"]

STARTS = 3
STALL_SECONDS = 60
SETTLE_SECONDS = 3.0
IDLE_SECONDS = 20.0  # two surveys of the lot, which come every 10 s

# A third each: given up, waiting for a retry, scheduled; nothing of it due within the run. Their LSNs are old: a row at
# or above the slot's position would be one that is yet to be read again.
_PARK = """
INSERT INTO cdc_relay.parked_records (slot, status, reason, outbox, commit_lsn, ordinal, commit_time, xid, route, topic,
    key, value, record_time, strict, hold_dead, size_bytes, event_id, event_type, attempts, max_attempts,
    first_failed_at, last_error_at, last_error, error_code, error_class, next_retry_at, scheduled_at, parked_at)
SELECT %(slot)s, kind, CASE kind WHEN 'scheduled' THEN 'schedule' ELSE 'failure' END, 'public.outbox',
       pg_lsn '0/1' + n, 0, now() - interval '1 day', 700 + n, 'default', 'outbox.event.parked-' || n %% 20,
       convert_to('k' || n %% 1000, 'UTF8'),
       convert_to('{"n": ' || n || ', "note": "' || repeat('x', 240) || '"}', 'UTF8'), now(), false, false, 270,
       gen_random_uuid()::text, 'Placed', 10, 10,
       now() - interval '1 day', now() - interval '1 day', 'a message', 'MSG_SIZE_TOO_LARGE', 'transient',
       CASE kind WHEN 'retrying' THEN now() + interval '1 year' END,
       CASE kind WHEN 'scheduled' THEN now() + interval '1 year' END, now() - interval '1 day'
  FROM (SELECT n, (ARRAY['dead', 'retrying', 'scheduled'])[n %% 3 + 1] AS kind FROM generate_series(1, %(count)s) n) s
"""


def fill_lot(conn: psycopg.Connection[Any], slot: str, count: int) -> None:
    """Vacuumed, as a server's own autovacuum would have done: a survey then reads an index alone."""
    conn.execute("SET synchronous_commit = off")
    conn.execute(_PARK, {"slot": slot, "count": count})
    conn.execute("VACUUM ANALYZE cdc_relay.parked_records")
    conn.execute("CHECKPOINT")


class ParkedStage(Stage):
    """Whoever has a slot here has so many records in the lot before it reads."""

    parked = 0

    def make_slot(self, slot: str) -> None:
        with self.database.connect() as conn:
            fill_lot(conn, slot, self.parked)
        super().make_slot(slot)


def look_at_rest(hot: HotStage, relay: Relay) -> dict[str, float]:
    hot.catch_up(relay)
    starts = [_time_start(hot, relay) for _ in range(STARTS)]
    time.sleep(SETTLE_SECONDS)
    return {"first_record_s": statistics.median(starts), **_watch_idle(hot, relay)}


def _time_start(hot: HotStage, relay: Relay) -> float:
    """Seconds from the start of the process to a record that was written before."""
    relay.stop()
    target = sum(hot.ends(relay).values()) + 1
    hot.stage.fill(1)
    started = time.monotonic()
    relay.start()
    while sum(hot.ends(relay).values()) < target:
        if time.monotonic() - started > STALL_SECONDS:
            raise SystemExit(f"no record {STALL_SECONDS} s after the start:\n{relay.complaint()}")
        time.sleep(0.005)
    return time.monotonic() - started


def _watch_idle(hot: HotStage, relay: Relay) -> dict[str, float]:
    servers = hot.stage.servers
    own, postgres, started = _run_seconds(relay.pid), servers.postgres_cpu_seconds(), time.monotonic()
    time.sleep(IDLE_SECONDS)
    elapsed = time.monotonic() - started
    own, postgres = _run_seconds(relay.pid) - own, servers.postgres_cpu_seconds() - postgres
    return {"idle_cpu_percent": own / elapsed * 100, "idle_postgres_cpu_percent": postgres / elapsed * 100}


def _run_seconds(pid: int) -> float:
    """Of all its threads, to the nanosecond: an idle relay hardly fills a tick of the other clock."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
