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

__all__ = ["run_bad_rows", "run_strict", "run_tenants"]

WARM_DRAINS = 5  # of each kind: until then the broker gets faster


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
        warm(hot, WARM_ROWS, run.say)
        for number in range(run.rounds):
            for drain in hot.round(turn=number):
                run.say(f"{name}, round {number + 1}  {drain}")
                run.add(name, name, drain.peer, number, drain.values())
        hot.close()


def run_bad_rows(run: Run) -> None:
    rows = min(BAD_BACKLOG_ROWS, run.sized(DEFAULT).rows)
    with servers() as place, bad_rows(place) as backlogs:
        for with_bad in (True, False) * WARM_DRAINS:
            run.say(f"warming: {backlogs.drain(rows, with_bad=with_bad):,.0f}/s")
        for number in range(run.rounds):
            for with_bad in (True, False) if number % 2 else (False, True):
                peer = "with bad rows" if with_bad else "without"
                rate = backlogs.drain(rows, with_bad=with_bad)
                run.say(f"bad rows, round {number + 1}  {peer:14}{rate:>9,.0f}/s")
                run.add("bad-rows", "bad-rows", peer, number, {"events_per_s": rate, "rows": rows})
