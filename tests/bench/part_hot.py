"""The part `hot`: one set of servers, the JVMs warmed once, then every workload in turn, round by round."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench.measure import WARM_ROWS, drain_rounds
from tests.bench.peers.names import RAW_NAPPING, RELAY, TUNED_DEBEZIUM
from tests.bench.run import Run
from tests.bench.servers import servers
from tests.bench.workloads import Workload

__all__ = ["run_hot"]


def run_hot(run: Run) -> None:
    """Encrypted workloads have servers of their own."""
    for tls in (False, True):
        workloads = [run.sized(workload) for workload in run.workloads if workload.tls == tls]
        if workloads:
            _drain_all(run, workloads, tls=tls)


def _drain_all(run: Run, workloads: Sequence[Workload], *, tls: bool) -> None:
    warm_events = run.warm_events
    with servers(tls=tls) as place, run.make_peers(run.peers) as peers:
        run.say(f"servers are up, Postgres {place.postgres.version}")
        for workload in workloads:
            run.say(f"hot, {workload.name}: {workload.about}; {workload.rows:,} rows")
            chosen = [peer for peer in peers if _tells(peer.name, workload)]
            wanted = {"rounds": run.rounds, "warm_events": warm_events}
            for number, drain in drain_rounds(place, chosen, workload, **wanted, say=run.say):
                run.say(f"round {number + 1}  {drain}")
                run.add("hot", workload.name, drain.peer, number, drain.values())
            warm_events = WARM_ROWS  # from now on the JVMs are hot


def _tells(peer: str, workload: Workload) -> bool:
    """The ceilings of the common workloads are no news elsewhere."""
    return peer in (RELAY, TUNED_DEBEZIUM) or workload.with_all or (peer == RAW_NAPPING and workload.with_reader)
