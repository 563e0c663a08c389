"""The parts `tenants`, `strict` and `bad-rows`: what features of the relay cost, each beside the relay without it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from tests.bench.bad_rows import bad_rows
from tests.bench.hot import HotStage
from tests.bench.measure import WARM_ROWS, warm
from tests.bench.peers.relay import Relay
from tests.bench.run import Run
from tests.bench.servers import servers
from tests.bench.stage import Stage
from tests.bench.tenants import TenantStage, make_relays
from tests.bench.workloads import BAD_BACKLOG_ROWS, DEFAULT, TENANTS

__all__ = ["has_levelled", "run_bad_rows", "run_strict", "run_tenants"]

WARM_DRAINS = 5  # until then the broker gets faster, and the relay has learnt what the topics refuse
# A drain has a hundred times less of what is refused than of what is taken: the JVM compiles that way late.
MAX_WARM_DRAINS = 20
LEVEL = 1.05
WITHOUT, WITH_BAD = "without", "with bad rows"
BAD_PEERS = {
    WITHOUT: {"with_bad": False},
    "without, large rows": {"with_bad": False, "with_large": True},
    WITH_BAD: {"with_bad": True},
}


def run_tenants(run: Run) -> None:
    """All rules of the multi-tenant example and the envelope CloudEvents, beside the default route."""
    with servers() as place:
        _compare(run, "tenants", TenantStage(place, run.sized(TENANTS)), make_relays())


def run_strict(run: Run) -> None:
    with servers() as place:
        strict = Relay("strict", prefix="strict", sections={"delivery": {"ordering": "strict"}})
        _compare(run, "strict", Stage(place, run.sized(DEFAULT)), [Relay("relaxed"), strict])


def _compare(run: Run, name: str, stage: Stage, relays: Sequence[Relay]) -> None:
    with ExitStack() as ends:
        for relay in relays:
            ends.callback(relay.end)
        hot = HotStage(stage)
        hot.add(relays)
        warm(hot, WARM_DRAINS * WARM_ROWS, run.say)
        for number in range(_rounds(run)):
            for drain in hot.round(turn=number):
                run.say(f"{name}, round {number + 1}  {drain}")
                run.add(name, name, drain.peer, number, drain.values())
        hot.close()


def _rounds(run: Run) -> int:
    """Of drains of half a second, which swing by a quarter and more: twice as many as of others."""
    return 2 * run.rounds + 1


def has_levelled(rates: Sequence[float]) -> bool:
    """The latest three drains are no faster than those before."""
    return len(rates) >= WARM_DRAINS and max(rates[-3:]) < LEVEL * max(rates[:-3])


def run_bad_rows(run: Run) -> None:
    """Beside a backlog without them, and beside one with good rows as large as some of the bad ones nearly are."""
    rows = min(BAD_BACKLOG_ROWS, run.sized(DEFAULT).rows)
    with servers() as place, bad_rows(place) as backlogs:

        def drain(peer: str, number: int) -> None:
            rate = backlogs.drain(rows, **BAD_PEERS[peer])
            run.say(f"bad rows, round {number + 1}  {peer:20}{rate:>9,.0f}/s")
            run.add("bad-rows", "bad-rows", peer, number, {"events_per_s": rate, "rows": rows})

        rates: list[float] = []
        while len(rates) < MAX_WARM_DRAINS and not has_levelled(rates):
            warming = [backlogs.drain(rows, **BAD_PEERS[peer]) for peer in (WITHOUT, WITH_BAD)]
            run.say(f"warming: {', '.join(f'{rate:,.0f}/s' for rate in warming)}")
            rates.append(warming[-1])
        for number in range(_rounds(run)):
            shift = number % len(BAD_PEERS)
            for peer in [*BAD_PEERS, *BAD_PEERS][shift : shift + len(BAD_PEERS)]:
                drain(peer, number)
