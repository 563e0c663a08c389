"""Who drains a backlog how fast: the relay, and the ceilings of what it stands between."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass

import psutil  # type: ignore[import-untyped]  # carries no types

from tests.bench.ground import PUBLICATION, TOPIC, Ground

__all__ = ["Drain", "drain_with_pg_recvlogical", "drain_with_relay", "produce_from_memory"]

STALL_SECONDS = 120


@dataclass(frozen=True)
class Drain:
    per_second: float
    cpu_us_per_event: float
    peak_rss_mb: float = 0.0
    first_record_seconds: float = 0.0
    whole_per_second: float = 0.0  # process start included


def drain_with_relay(ground: Ground, slot: str, row_count: int) -> Drain:
    """Watched through the topic's end offset, which costs the relay nothing."""
    consumer = ground.consumer()
    before = ground.end_offset(consumer)
    relay = ground.relay(slot)
    started = time.monotonic()
    relay.start()
    first = last = 0.0
    seen = before
    while seen < before + row_count:
        time.sleep(0.02)
        seen, now = ground.end_offset(consumer), time.monotonic()
        if seen > before and not first:
            first, first_seen = now, seen
        last = now
        if now - started > STALL_SECONDS:
            raise SystemExit(
                f"the relay delivered {seen - before} of {row_count} in {STALL_SECONDS} s:\n{relay.stderr}"
            )
    cpu = psutil.Process(relay.pid).cpu_times()
    rss = relay.rss_peak()
    code = relay.stop()
    consumer.close()
    if code != 0 or seen != before + row_count:
        raise SystemExit(f"the relay ended with {code} and delivered {seen - before} of {row_count}:\n{relay.stderr}")
    return Drain(
        per_second=(row_count - (first_seen - before)) / max(last - first, 0.02),
        cpu_us_per_event=(cpu.user + cpu.system) / row_count * 1e6,
        peak_rss_mb=rss / 1e6,
        first_record_seconds=first - started,
        whole_per_second=row_count / (last - started),
    )


def drain_with_pg_recvlogical(ground: Ground, slot: str, end_lsn: str, row_count: int) -> Drain:
    """Postgres' own reader, to nowhere: what the walsender delivers to an eager reader."""
    command = [str(ground.postgres.bindir / "pg_recvlogical"), "-d", ground.postgres.dsn(), "-S", slot, "--start"]
    command += [
        "-o",
        "proto_version=1",
        "-o",
        f"publication_names={PUBLICATION}",
        "-f",
        os.devnull,
        "--endpos",
        end_lsn,
    ]
    started, cpu = time.monotonic(), _children_cpu_seconds()
    subprocess.run(command, check=True, timeout=STALL_SECONDS)
    elapsed = time.monotonic() - started
    return Drain(row_count / elapsed, (_children_cpu_seconds() - cpu) / row_count * 1e6)


def produce_from_memory(ground: Ground, row_count: int) -> Drain:
    """The same records from memory, with the relay's own producer settings: what is left without reading."""
    arguments = [ground.kafka.bootstrap, TOPIC, str(row_count), "270", "none"]
    command = [sys.executable, "-m", "tests.bench.produce", *arguments]
    output = subprocess.run(command, check=True, timeout=STALL_SECONDS, capture_output=True, text=True).stdout
    seconds, cpu_seconds = map(float, output.split())
    return Drain(row_count / seconds, cpu_seconds / row_count * 1e6)


def _children_cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
