"""The part `hot`: one set of servers, the connectors warmed once, then every workload in turn, round by round."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench.hot import HotStage
from tests.bench.peers.one_shot import OneShot
from tests.bench.peers.peer import Peer
from tests.bench.run import Run
from tests.bench.servers import Servers, servers
from tests.bench.stage import Stage
from tests.bench.workloads import Workload

__all__ = ["run_hot", "warm"]

WARM_ROWS = 300_000


def run_hot(run: Run) -> None:
    """Encrypted workloads have servers of their own."""
    for tls in (False, True):
        workloads = [workload for workload in run.workloads if workload.tls == tls]
        if workloads:
            _drain_all(run, workloads, tls=tls)


def _drain_all(run: Run, workloads: Sequence[Workload], *, tls: bool) -> None:
    with servers(tls=tls) as place, run.make_peers(run.peers) as peers:
        run.say(f"servers are up, Postgres {place.postgres.version}")
        for number, workload in enumerate(workloads):
            chosen = [peer for peer in peers if _tells(peer.name, workload)]
            drain_workload(
                run, place, run.sized(workload), chosen, warm_events=run.warm_events if number == 0 else WARM_ROWS
            )


def _tells(peer: str, workload: Workload) -> bool:
    """The ceilings of the common workloads are no news elsewhere."""
    return peer in ("relay", "debezium-tuned") or workload.with_all or (peer == "raw-napping" and workload.with_reader)


def drain_workload(
    run: Run, place: Servers, workload: Workload, peers: Sequence[Peer | OneShot], *, warm_events: int
) -> None:
    """A JVM is warmed for long, before the others come; the rest of us and the broker once."""
    run.say(f"hot, {workload.name}: {workload.about}; {workload.rows:,} rows")
    stage, hot = HotStage(Stage(place, workload)), [peer for peer in peers if peer.name.startswith("debezium")]
    if hot:
        stage.add(hot)
        warm(run, stage, warm_events - WARM_ROWS)
    stage.add([peer for peer in peers if peer not in hot])
    warm(run, stage, WARM_ROWS)
    for number in range(run.rounds):
        for drain in stage.round(turn=number):
            run.say(f"round {number + 1}  {drain}")
            run.add("hot", workload.name, drain.peer, number, drain.values())
    stage.close()


def warm(run: Run, stage: HotStage, events: int) -> dict[str, float]:
    """Events per second of the last drain, by peer."""
    rates: dict[str, float] = {}
    rows = min(stage.stage.workload.rows, WARM_ROWS)
    for number in range(events // WARM_ROWS):
        rates = {drain.peer: drain.events_per_s for drain in stage.round(rows, turn=number, check=False)}
        run.say(f"warming: {', '.join(f'{name} {rate:,.0f}/s' for name, rate in rates.items())}")
    return rates
