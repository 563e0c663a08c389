"""`python -m tests.bench.flame --out FILE.svg`: where the relay's time goes, as a flame graph and as a table per stage.

py-spy looks at a hot relay that drains one backlog after the other, or that follows a steady rate. It stops the relay
for each look: read shares here, and speeds elsewhere. What a thread costs that is not Python's is read from /proc.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from tests.bench.flame_stacks import Stack, parse, stage_of, stage_shares, work_of
from tests.bench.flame_svg import draw_flames
from tests.bench.hot import HotStage
from tests.bench.inspection import inspect
from tests.bench.latency import pace_of
from tests.bench.measure import WARM_ROWS, warm
from tests.bench.peers.relay import Relay
from tests.bench.processes import hold
from tests.bench.servers import servers
from tests.bench.stage import Stage
from tests.bench.workloads import DEFAULT

__all__ = ["main"]

LOOKS_PER_SECOND = 200
START_SECONDS = 3.0  # until it has read the symbols
LOOP, TURN = "MainThread", "Session._turn"
COLORS = {
    "read": "#8fb8de",
    "decode and route": "#f3c969",
    "produce": "#e58f65",
    "reports and settling": "#93c48b",
    "the rest": "#c9c5d6",
}


class ProfiledRelay(Relay):
    """Not stopped between drains, only its walsender: who looks at a stopped process may wake it."""

    def hold(self) -> None:
        hold([self.walsender_pid])


@click.command()
@click.option("--out", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The SVG.")
@click.option("--pure", is_flag=True, help="Without the compiled part.")
@click.option("--at-rate", type=int, help="Events/s that are written, instead of drains.")
@click.option("--rows", default=300_000, show_default=True, help="Of a backlog.")
@click.option("--rounds", default=6, show_default=True, help="Backlogs.")
@click.option("--seconds", default=30.0, show_default=True, help="With --at-rate.")
@click.option("--native/--no-native", default=True, show_default=True, help="Frames of C too.")
@click.option("--raw", type=click.Path(path_type=Path, dir_okay=False), help="Keep the samples here.")
def main(
    out: Path, pure: bool, at_rate: int | None, rows: int, rounds: int, seconds: float, native: bool, raw: Path | None
) -> None:
    if pure:
        os.environ["CDC_RELAY_NATIVE"] = "0"
    relay = ProfiledRelay()
    try:
        with servers() as place:
            hot = HotStage(Stage(place, replace(DEFAULT, rows=rows)))
            hot.add([relay])
            warm(hot, WARM_ROWS)
            with _record(relay.pid, native=native) as samples:
                before, events = _thread_seconds(relay.pid), 0
                events = _follow(hot, relay, at_rate, seconds) if at_rate else _drain(hot, rounds)
                spent = _since(before, _thread_seconds(relay.pid))
            hot.close()
    finally:
        relay.end()
    if raw:
        raw.write_text("\n".join(samples))
    work = f"following {at_rate:,} events/s" if at_rate else f"draining {events:,} events"
    title = f"cdc-relay {work}, {'without' if pure else 'with'} the compiled part"
    _tell(parse(samples), spent, events, title=title, out=out)


def _drain(hot: HotStage, rounds: int) -> int:
    return sum(found.rows for number in range(rounds) for found in hot.round(turn=number))


def _follow(hot: HotStage, relay: Relay, rate: int, seconds: float) -> int:
    hot.catch_up(relay)
    before = hot.ends(relay)
    backlog = hot.stage.write_steadily(pace_of(rate), seconds)
    hot.catch_up(relay)
    inspect(hot.stage, relay.name, before, hot.ends(relay), backlog)
    return backlog.count


@contextmanager
def _record(pid: int, *, native: bool) -> Iterator[list[str]]:
    """The lines come when the block ends. Idle threads are not looked at."""
    program, lines = Path(sys.executable).with_name("py-spy"), list[str]()
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "samples")
        options = ["-f", "raw", "-r", str(LOOKS_PER_SECOND), "-F", "-t", "-o", str(file), *(["-n"] if native else [])]
        spy = subprocess.Popen([program, "record", "-p", str(pid), *options], stderr=subprocess.PIPE, text=True)
        try:
            time.sleep(START_SECONDS)
            yield lines
            spy.send_signal(signal.SIGINT)
            _, said = spy.communicate(timeout=60)
        finally:
            spy.kill()
        if not file.exists():
            raise SystemExit(f"py-spy made no profile:\n{said}")
        lines += file.read_text().splitlines()


def _tell(stacks: Counter[Stack], spent: Mapping[str, float], events: int, *, title: str, out: Path) -> None:
    loop = work_of(stacks, thread=LOOP, below=TURN)
    picture = draw_flames(loop, title=title, color_of=lambda stack: COLORS[stage_of(stack)], legend=COLORS)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(picture)
    print(f"{title}: {sum(loop.values()):,} samples of the loop at work\n")
    print("| thread, stage | share of its samples | µs of CPU per event |\n|---|---|---|")
    for thread, seconds in sorted(spent.items(), key=lambda each: -each[1]):
        each = seconds / events * 1e6
        print(f"| {thread} | | {each:.2f} |")
        if thread == "loop":
            for stage, share in stage_shares(loop).items():
                print(f"| loop: {stage} | {share:.0%} | {share * each:.2f} |")


def _thread_seconds(pid: int) -> Counter[str]:
    """By name, without numbers: a broker's thread may be a new one. The first thread is the loop."""
    found: Counter[str] = Counter()
    for task in Path(f"/proc/{pid}/task").iterdir():
        name = re.sub(r"[-\d/].*", "", (task / "comm").read_text().strip())
        name = "loop" if int(task.name) == pid else name if name.startswith("rdk:") else "other Python threads"
        found[name] += int((task / "schedstat").read_text().split()[0])  # ns
    return found


def _since(before: Counter[str], after: Counter[str]) -> dict[str, float]:
    return {name: (count - before[name]) / 1e9 for name, count in after.items()}


if __name__ == "__main__":
    main()
