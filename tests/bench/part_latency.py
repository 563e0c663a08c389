"""The parts `latency` and `idle`: what a hot connector does at a steady rate, and with nothing to do."""

from __future__ import annotations

import time
from collections.abc import Sequence

from tests.bench.hot import HotStage
from tests.bench.latency import measure_latency
from tests.bench.measure import HOT_ROUNDS, WARM_ROWS, warm
from tests.bench.peers.catalog import CONNECTORS
from tests.bench.peers.names import UNTUNED_DEBEZIUM
from tests.bench.peers.peer import Peer
from tests.bench.processes import cpu_seconds, rss_peak_mb
from tests.bench.run import Run
from tests.bench.servers import servers
from tests.bench.stage import Stage
from tests.bench.workloads import DEFAULT

__all__ = ["HALF", "run_idle", "run_latency"]

SCRAPE_SECONDS = 15.0
IDLE_SCRAPES = 2  # in a round
IDLE_WARM_EVENTS = 300_000
HALF_WARM_EVENTS = HOT_ROUNDS * WARM_ROWS  # half of a maximum that is a median
HALF = "half"
TRIES = 2  # of a round whose writers fell behind
HEADROOM = 0.85  # of what they could write: identical rounds differ by more than a tenth
TRIALS = 2  # in which the writers keep up before a rate is taken: one of them may have been lucky


def run_latency(run: Run) -> None:
    names = [name for name in run.peers if name in CONNECTORS]
    with servers() as place, run.make_peers(names) as peers:
        stage = HotStage(Stage(place, run.sized(DEFAULT)))
        stage.add(peers)
        maxima = warm(stage, _warm_events(run, names), run.say)
        for rate in run.rates:
            rate_per_s = _find_half(run, stage, maxima) if rate == HALF else float(rate)
            for number in range(run.rounds):
                _measure(run, stage, rate, rate_per_s, number, maxima)
            stage.stage.forget_rows()
        stage.close()


def _warm_events(run: Run, names: Sequence[str]) -> int:
    least = HALF_WARM_EVENTS if HALF in run.rates else IDLE_WARM_EVENTS
    return max(run.warm_events, least) if any(name.startswith("debezium") for name in names) else least


def _measure(run: Run, stage: HotStage, rate: str, rate_per_s: float, number: int, maxima: dict[str, float]) -> None:
    """Not those that could not keep up."""
    able = [peer for peer in stage.streaming if maxima[peer.name] > 1.2 * rate_per_s]
    shift = number % len(able)
    for peer in able[shift:] + able[:shift]:
        for _ in range(TRIES):
            latency = measure_latency(stage, peer, rate=rate_per_s, seconds=run.seconds)
            run.say(f"round {number + 1}  {latency}")
            run.add("latency", rate, peer.name, number, latency.values())
            if not latency.is_behind:
                break


def _find_half(run: Run, stage: HotStage, maxima: dict[str, float]) -> float:
    """Of the slower one of the relay and the tuned Debezium, or what the writers can write beside it on these cores."""
    slowest = min(
        (peer for peer in stage.streaming if peer.name != UNTUNED_DEBEZIUM), key=lambda each: maxima[each.name]
    )
    rate, kept_up = maxima[slowest.name] / 2, 0
    while kept_up < TRIALS:
        latency = measure_latency(stage, slowest, rate=_full_hundreds(rate), seconds=run.seconds)
        run.say(f"trying {latency}")
        kept_up = 0 if latency.is_behind else kept_up + 1
        rate = latency.written_per_s * HEADROOM if latency.is_behind else rate
    return _full_hundreds(rate)


def _full_hundreds(rate: float) -> float:
    return rate // 100 * 100


def run_idle(run: Run) -> None:
    names = [name for name in run.peers if name in CONNECTORS]
    with servers() as place, run.make_peers(names) as peers:
        stage = HotStage(Stage(place, run.sized(DEFAULT)))
        stage.add(peers)
        warm(stage, IDLE_WARM_EVENTS, run.say)
        for number in range(run.rounds):
            for peer in stage.streaming:
                stage.catch_up(peer)
                values = _watch_idle(peer)
                peer.hold()
                run.say(f"idle, round {number + 1}  {peer.name:18}{values['cpu_percent']:.2f} % CPU")
                run.add("idle", DEFAULT.name, peer.name, number, values)
        stage.close()


def _watch_idle(peer: Peer) -> dict[str, float]:
    """With a reader of its metrics, who comes as often as Prometheus in its examples."""
    time.sleep(2)  # what it put off while it was held
    before, started = cpu_seconds(peer.pid), time.monotonic()
    for _ in range(IDLE_SCRAPES):
        peer.scrape()
        time.sleep(SCRAPE_SECONDS)
    spent = (cpu_seconds(peer.pid) - before) / (time.monotonic() - started)
    return {"cpu_percent": spent * 100, "rss_peak_mb": rss_peak_mb(peer.pid)}
