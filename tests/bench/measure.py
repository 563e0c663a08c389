"""Hot drains for whoever needs some: peers on a workload, warmed, round after round.

    with servers() as place:
        for drain in drain(place, Relay(), DEFAULT, rounds=3): ...

The order of things is hot.py's; this file decides who is warmed for how long, and cleans up.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

from tests.bench.drain import Drain
from tests.bench.hot import HotStage
from tests.bench.peers.one_shot import OneShot
from tests.bench.peers.peer import Peer
from tests.bench.servers import Servers
from tests.bench.stage import Stage
from tests.bench.workloads import Workload

__all__ = ["HOT_ROUNDS", "WARM_ROWS", "drain", "drain_rounds", "median_rates", "warm"]

WARM_ROWS = 300_000
HOT_ROUNDS = 3  # at the end of warming; a JVM is not hot before

Say = Callable[[object], None]


def drain(place: Servers, peer: Peer | OneShot, workload: Workload, *, rounds: int = 1) -> list[Drain]:
    """One peer alone, which does not outlive this."""
    try:
        return [found for _, found in drain_rounds(place, [peer], workload, rounds=rounds)]
    finally:
        peer.end()


def drain_rounds(
    place: Servers,
    peers: Sequence[Peer | OneShot],
    workload: Workload,
    *,
    rounds: int = 3,
    warm_events: int = WARM_ROWS,
    say: Say = print,
) -> Iterator[tuple[int, Drain]]:
    """A JVM is warmed for long, before the others come; these, and the broker, once. The caller ends the peers."""
    stage, slow = HotStage(Stage(place, workload)), [peer for peer in peers if peer.name.startswith("debezium")]
    if slow:
        stage.add(slow)
        warm(stage, warm_events - WARM_ROWS, say)
    stage.add([peer for peer in peers if peer not in slow])
    warm(stage, WARM_ROWS, say)
    for number in range(rounds):
        for found in stage.round(turn=number):
            yield number, found
    stage.close()


def warm(stage: HotStage, events: int, say: Say = print) -> dict[str, float]:
    """Events per second by peer: the median of the last three drains, or of all where there are fewer."""
    rounds: list[dict[str, float]] = []
    rows = min(stage.stage.workload.rows, WARM_ROWS)
    for number in range(events // WARM_ROWS):
        rates = {found.peer: found.events_per_s for found in stage.round(rows, turn=number, check=False)}
        say(f"warming: {', '.join(f'{name} {rate:,.0f}/s' for name, rate in rates.items())}")
        rounds.append(rates)
    return median_rates(rounds[-HOT_ROUNDS:])


def median_rates(rounds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: statistics.median(rates[name] for rates in rounds) for name in (rounds[0] if rounds else ())}
