"""The guard of one slot while the relay starts and runs: asked before the slot is read, written before it is confirmed.

Blocks within limits: for the helper thread. What is judged is in guard, what is stored in guard_table.
"""

from __future__ import annotations

import structlog

from cdc_relay.protocol.lsn import format_lsn
from cdc_relay.sources.catalog import Facts
from cdc_relay.sources.guard import (
    Problem,
    Seen,
    find_notices,
    find_problem,
    refuse_gap,
    see_publication,
)
from cdc_relay.sources.guard_table import GuardTable, require_guard_table
from cdc_relay.sources.line import Line
from cdc_relay.sources.preflight import Wanted

__all__ = ["SlotGuard"]

log = structlog.get_logger()


class SlotGuard:
    def __init__(self, wanted: Wanted, *, accept_gap: bool = False) -> None:
        self._wanted = wanted
        self._accept_gap = accept_gap  # once: what happens later is another gap
        self._table = GuardTable(wanted.slot, [(outbox.schema, outbox.name) for outbox in wanted.tables])

    def look(self, line: Line, facts: Facts) -> Problem | None:
        """Before the slot is opened: another process may still read it. None also for a gap that will be accepted."""
        require_guard_table(line)
        guard = self._table.read(line)
        server = self._table.read_server(line)
        problem = None if guard is None else find_problem(guard, facts, server, self._wanted)
        if problem is None:
            self._disarm()
        return None if problem is None or (self._accept_gap and problem.can_be_accepted) else problem

    def take_over(self, line: Line, facts: Facts) -> int:
        """The slot is ours and nothing has been confirmed yet: the ceiling, or RefusedError for a gap."""
        confirmed_lsn = 0 if facts.slot is None else facts.slot.confirmed_lsn
        seen = see_publication(facts, self._wanted)
        guard, server = self._table.read(line), self._table.read_server(line)
        if guard is None:
            self._table.begin(line, seen, ceiling_lsn=confirmed_lsn)
            log.info("guard", text=f"begins at {format_lsn(confirmed_lsn)}: what happened before is not known")
            return confirmed_lsn
        problem = find_problem(guard, facts, server, self._wanted)
        if problem is not None:
            self._accept(line, problem, seen, confirmed_lsn)
            return confirmed_lsn
        for notice in find_notices(guard, facts, server):
            log.info("guard", text=notice)
        self._table.follow(line, seen, confirmed_lsn=confirmed_lsn)
        return max(guard.ceiling_lsn, confirmed_lsn)

    def raise_to(self, line: Line, ceiling_lsn: int, *, seen_lsn: int, seen_at: float) -> bool:
        """False when the row is not ours any more."""
        return self._table.raise_to(line, ceiling_lsn, seen_lsn=seen_lsn, seen_at=seen_at)

    def _accept(self, line: Line, problem: Problem, seen: Seen, confirmed_lsn: int) -> None:
        if not (self._accept_gap and problem.can_be_accepted):
            raise refuse_gap(problem)
        said = problem.finding.problem
        self._table.accept(line, said, problem.gap, seen, ceiling_lsn=confirmed_lsn)
        self._accept_gap = False
        log.warning("gap_accepted", problem=said, replay=problem.gap.replay)

    def _disarm(self) -> None:
        """A process that stands by for days must not accept what happens meanwhile."""
        if self._accept_gap:
            log.info("guard", text="there is no gap to accept: leave --accept-gap out next time")
        self._accept_gap = False
