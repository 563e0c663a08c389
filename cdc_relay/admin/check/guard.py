"""The slot guard, looked at: its tables and rights, and whether the slot is where it was left. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from cdc_relay.admin.check.finding import Finding, fail, ok
from cdc_relay.admin.check.lines import failure, not_seen, reach
from cdc_relay.config import RelayConfig
from cdc_relay.errors import RefusedError, RelayError
from cdc_relay.protocol.lsn import format_lsn
from cdc_relay.sources.catalog import read_facts
from cdc_relay.sources.guard import find_notices, find_problem
from cdc_relay.sources.guard_table import GuardTable, require_guard_table
from cdc_relay.sources.line import Line
from cdc_relay.sources.preflight import Wanted
from cdc_relay.sources.schema import AT_SOURCE
from cdc_relay.target import wanted_of

__all__ = ["check_guard"]


def check_guard(config: RelayConfig) -> Iterator[Finding]:
    """Silent where Postgres cannot be reached: that is another finding."""
    line = reach(config)
    if line is not None:
        with closing(line):
            yield from _look(line, wanted_of(config))


def _look(line: Line, wanted: Wanted) -> Iterator[Finding]:
    try:
        require_guard_table(line)
    except RefusedError as exc:
        yield failure("guard", exc)
        return
    except RelayError as exc:
        yield not_seen("guard", exc)
        return
    yield ok("guard", f"version {max(AT_SOURCE)}")
    try:
        yield _look_for_gap(line, wanted)
    except RelayError as exc:
        yield not_seen("guard.gap", exc)


def _look_for_gap(line: Line, wanted: Wanted) -> Finding:
    """The slot first, then the guard: a relay may be reading."""
    tables = [(outbox.schema, outbox.name) for outbox in wanted.tables]
    facts = read_facts(line, slot=wanted.slot, publication=wanted.publication, tables=tables)
    table = GuardTable(wanted.slot, tables)
    guard, server = table.read(line), table.read_server(line)
    if guard is None:
        return ok("guard.gap", "nothing is written down yet: the first run begins where the slot is")
    problem = find_problem(guard, facts, server, wanted)
    if problem is not None:
        return fail("guard.gap", problem.finding.problem, *problem.finding.steps)
    is_read = facts.slot is not None and facts.slot.active_pid is not None  # its reader is ahead of what it confirmed
    notices = [] if is_read else list(find_notices(guard, facts, server))
    return ok("guard.gap", "; ".join([f"none up to {format_lsn(guard.ceiling_lsn)}", *notices]))
