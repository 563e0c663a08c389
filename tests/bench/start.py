"""`python -m tests.bench.start`: what the relay costs before and without work: its start, its memory, its idling.

Medians of several starts over a small backlog; then memory after one large transaction, then the CPU of a relay that
has nothing to do. Everything is read from outside, so that nothing is measured but the product.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import click
import psutil  # type: ignore[import-untyped]  # carries no types

from tests.bench.arrival import STALL_SECONDS
from tests.bench.servers import servers
from tests.bench.stage import PUBLICATION, Stage
from tests.bench.watch import Watch
from tests.bench.workloads import DEFAULT
from tests.fixtures.process import wait_until
from tests.fixtures.relay_process import RelayProcess, relay_config

BACKLOG_ROWS = 1000
STAGES = {
    "bare interpreter": "pass",
    "commands": "import cdc_relay.cli",
    "configuration": "import cdc_relay.cli.run",
    "file read": "import sys, pathlib, cdc_relay.cli.run as run; run.load(pathlib.Path(sys.argv[1]))",
    "all of run": "import sys, pathlib, cdc_relay.cli.run as run; run.load(pathlib.Path(sys.argv[1]))\n"
    "import cdc_relay.wiring, cdc_relay.sinks.kafka",
}
_PEAK = "\nimport re; print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"


class Start(NamedTuple):
    streaming_seconds: float
    first_record_seconds: float
    ready_mb: float
    peak_mb: float


@click.command()
@click.option("--rounds", default=5, show_default=True)
@click.option("--rows", default=100_000, show_default=True, help="In the transaction that memory is measured with.")
@click.option("--idle-seconds", default=20.0, show_default=True)
def main(rounds: int, rows: int, idle_seconds: float) -> None:
    with servers() as place:
        stage = Stage(place, DEFAULT)
        watch = Watch(place.bootstrap, stage.make_topics("outbox.event"), DEFAULT.partitions)
        for number in range(rounds + 1):
            stage.make_slot(f"start_{number}")
        stage.fill(BACKLOG_ROWS, per_transaction=10)
        _start(stage, watch, "start_0", BACKLOG_ROWS).stop()  # bytecode is written, the broker is warm
        starts = [_measure_start(stage, watch, f"start_{number}") for number in range(1, rounds + 1)]
        stages = {
            name: _stage(code, place.directory / "start_0" / "relay.yaml", rounds) for name, code in STAGES.items()
        }
        large = _drain_large(stage, watch, rows)
        print(f"peak RSS, {rows:,} rows in one transaction  {large.rss_peak() / 1e6:.1f} MB")
        share, calls = _measure_idle(large, idle_seconds)
        large.stop()
    _print(starts, stages)
    print(f"idle CPU over {idle_seconds:g} s                  {share:.2%} of a core, {calls:.1f} switches/s")


def _measure_start(stage: Stage, watch: Watch, slot: str) -> Start:
    before, started = watch.count(), time.monotonic()
    relay = _relay(stage, slot).start()
    streaming = first = 0.0
    while not (streaming and first):
        time.sleep(0.005)
        first = first or (time.monotonic() if watch.count() > before else 0.0)
        streaming = streaming or (time.monotonic() if '"streaming"' in relay.stderr else 0.0)
        _require(relay, started)
    ready_mb = _rss_mb(relay)
    wait_until(lambda: watch.count() >= before + BACKLOG_ROWS, timeout=60, what="the backlog is drained")
    result = Start(streaming - started, first - started, ready_mb, relay.rss_peak() / 1e6)
    relay.stop()
    return result


def _relay(stage: Stage, slot: str) -> RelayProcess:
    config = relay_config(stage.dsn(), slot, PUBLICATION, "public.outbox", stage.servers.bootstrap)
    return RelayProcess(config, stage.servers.directory / slot)


def _start(stage: Stage, watch: Watch, slot: str, row_count: int) -> RelayProcess:
    """Until it has drained so many."""
    before, started = watch.count(), time.monotonic()
    relay = _relay(stage, slot).start()
    while watch.count() < before + row_count:
        time.sleep(0.02)
        _require(relay, started)
    return relay


def _drain_large(stage: Stage, watch: Watch, rows: int) -> RelayProcess:
    stage.make_slot("large")
    stage.fill(rows, per_transaction=rows)
    return _start(stage, watch, "large", rows)


def _require(relay: RelayProcess, started: float) -> None:
    if time.monotonic() - started > STALL_SECONDS or not relay.is_running:
        raise SystemExit(f"the relay did not get on:\n{relay.stderr}")


def _rss_mb(relay: RelayProcess) -> float:
    return float(psutil.Process(relay.pid).memory_info().rss) / 1e6


def _stage(code: str, config: Path, rounds: int) -> tuple[float, float]:
    """Seconds and megabytes of a process that goes so far and ends."""
    seconds, peaks = [], []
    for _ in range(rounds):
        started = time.monotonic()
        command = [sys.executable, "-c", f"import gc; gc.disable()\n{code}{_PEAK}", str(config)]
        peaks.append(int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) * 1024 / 1e6)
        seconds.append(time.monotonic() - started)
    return statistics.median(seconds), statistics.median(peaks)


def _measure_idle(relay: RelayProcess, seconds: float) -> tuple[float, float]:
    """Share of a core, and how often per second a thread of it ran."""
    time.sleep(2)  # what is done once after the drain
    before = _spent(relay.pid)
    time.sleep(seconds)
    after = _spent(relay.pid)
    for name, (cpu, count) in sorted(after.items(), key=lambda each: -each[1][0]):
        old_cpu, old_count = before.get(name, (0.0, 0))
        print(f"  idle thread {name:28} {(cpu - old_cpu) / seconds:.3%}  {(count - old_count) / seconds:6.1f}/s")
    whole = [sum(cpu for cpu, _ in each.values()) for each in (before, after)]
    runs = [sum(count for _, count in each.values()) for each in (before, after)]
    return (whole[1] - whole[0]) / seconds, (runs[1] - runs[0]) / seconds


def _spent(pid: int) -> dict[str, tuple[float, int]]:
    """By thread: seconds on a core, exact to the nanosecond, and how often it got one."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        cpu, _, count = (task / "schedstat").read_text().split()
        name = re.sub(r"\s", " ", (task / "comm").read_text().strip())
        found[f"{name} {task.name}"] = int(cpu) / 1e9, int(count)
    return found


def _print(starts: list[Start], stages: dict[str, tuple[float, float]]) -> None:
    middle = Start(*map(statistics.median, zip(*starts, strict=True)))
    for name, (seconds, peak) in stages.items():
        print(f"a process with {name:26} {seconds:6.3f} s {peak:6.1f} MB")
    print(f"process start to streaming               {middle.streaming_seconds:6.3f} s {middle.ready_mb:6.1f} MB")
    print(f"process start to first record            {middle.first_record_seconds:6.3f} s")
    print(f"peak RSS, {BACKLOG_ROWS:,} rows                            {middle.peak_mb:6.1f} MB")
    print(
        f"all starts to the first record, s        {', '.join(f'{each.first_record_seconds:.3f}' for each in starts)}"
    )


if __name__ == "__main__":
    main()
