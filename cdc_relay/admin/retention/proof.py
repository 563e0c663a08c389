"""Whether it is sure which rows are settled: the guard's mark, judged. Reads; removes nothing.

A row may go only if its transaction is before the mark. While anything is in doubt, no row goes: what the slot does not
have any more can come from the table alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from cdc_relay.config.units import format_duration
from cdc_relay.protocol.lsn import format_lsn
from cdc_relay.sources.catalog import Facts, read_facts
from cdc_relay.sources.guard import Guard, Server, find_problem
from cdc_relay.sources.guard_table import GuardTable
from cdc_relay.sources.line import Line
from cdc_relay.sources.preflight import Wanted

__all__ = ["Doubt", "Evidence", "Proof", "prove", "read_evidence", "read_settled_evidence"]

_XIDS = 1 << 32
_FARTHEST = 1 << 30  # transactions: beyond, a row's number is ambiguous
_PATIENCE_SECONDS = 5.0  # the slot follows the guard within a second
_RUN = "cdc-relay run -c FILE"
_UNFINISHED = """
SELECT json_build_array(id, kind) FROM cdc_relay.replays WHERE slot = $1 AND state = 'running' ORDER BY began_at
"""
_OPEN_GAPS = "SELECT id FROM cdc_relay.gaps WHERE slot = $1 AND closed_at IS NULL ORDER BY id"


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why nothing may be removed, and what an operator does about it."""

    problem: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """All of one moment: first the slot, then the guard, which is never behind it."""

    facts: Facts
    guard: Guard | None
    server: Server
    runs: tuple[tuple[str, str], ...]  # replays and backfills that are not finished: id and kind
    gaps: tuple[str, ...]  # accepted, and not said to be closed

    @property
    def confirmed_lsn(self) -> int:
        return 0 if self.facts.slot is None else self.facts.slot.confirmed_lsn

    @property
    def is_caught_up(self) -> bool:
        """The guard is written before the slot is confirmed: for a moment it may be ahead."""
        return self.guard is None or self.confirmed_lsn >= self.guard.settled.lsn


@dataclass(frozen=True, slots=True)
class Proof:
    """Everything of a transaction before `xid` is settled; what is from before `cutoff` may go."""

    xid: int
    cutoff: datetime

    @property
    def short_xid(self) -> str:
        return str(self.xid % _XIDS)


def read_settled_evidence(line: Line, wanted: Wanted, *, pause: Callable[[float], bool]) -> Evidence:
    """With a moment's patience for a slot that is about to follow."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    evidence = read_evidence(line, wanted)
    while not evidence.is_caught_up and time.monotonic() < deadline and not pause(0.25):
        evidence = read_evidence(line, wanted)
    return evidence


def read_evidence(line: Line, wanted: Wanted) -> Evidence:
    tables = [(box.schema, box.name) for box in wanted.tables]
    guard_table = GuardTable(wanted.slot, tables)
    return Evidence(
        facts=read_facts(line, slot=wanted.slot, publication=wanted.publication, tables=tables),
        guard=guard_table.read(line),
        server=guard_table.read_server(line),
        runs=tuple((run, kind) for run, kind in _loaded(line, _UNFINISHED, wanted.slot)),
        gaps=tuple(gap or "" for (gap,) in line.query(_OPEN_GAPS, [wanted.slot])),
    )


def _loaded(line: Line, sql: str, slot: str) -> Iterator[list[str]]:
    for (row,) in line.query(sql, [slot]):
        yield json.loads(row or "[]")


def prove(evidence: Evidence, wanted: Wanted, *, table: str, keep_seconds: float) -> Proof | Doubt:
    """The first reason against removing anything of the table, or what may go."""
    guard = evidence.guard
    if guard is None:
        return Doubt("the guard has no row of this slot, so nobody knows what is settled", f"start the relay: {_RUN}")
    doubt = next(_doubts(evidence, guard, wanted, table, keep_seconds), None)
    return doubt or Proof(guard.settled.xid, evidence.server.mark.at - timedelta(seconds=keep_seconds))


def _doubts(evidence: Evidence, guard: Guard, wanted: Wanted, table: str, keep_seconds: float) -> Iterator[Doubt]:
    server = evidence.server
    problem = find_problem(guard, evidence.facts, server, wanted)
    if problem is not None:
        yield Doubt(problem.finding.problem, problem.finding.remedy)
    if table not in json.loads(guard.publication)["tables"]:
        yield Doubt("the relay has not read this table yet", f"start it with this file: {_RUN}")
    if guard.timeline != server.timeline:
        yield Doubt("after a failover the relay has not taken over yet", f"start it: {_RUN}")
    if not evidence.is_caught_up:
        confirmed, settled = format_lsn(evidence.confirmed_lsn), format_lsn(guard.settled.lsn)
        yield Doubt(f"the slot is confirmed up to {confirmed}, the guard's mark is at {settled}", f"start: {_RUN}")
    if server.mark.at - guard.settled.at >= timedelta(seconds=keep_seconds):
        yield _lagging(guard, keep_seconds)
    if server.mark.xid - guard.settled.xid >= _FARTHEST:
        yield Doubt("more than a billion transactions are not surely settled", f"let the relay catch up: {_RUN}")
    yield from _needs(evidence)


def _lagging(guard: Guard, keep_seconds: float) -> Doubt:
    return Doubt(
        f"only what was committed before {guard.settled.at:%Y-%m-%d %H:%M:%S} UTC is surely published or parked, and"
        f" that is longer ago than rows are kept ({format_duration(keep_seconds)})",
        "see why the relay lags: cdc-relay status -c FILE",
    )


def _needs(evidence: Evidence) -> Iterator[Doubt]:
    """What may still be read from the table."""
    for run, kind in evidence.runs:
        again = "cdc-relay setup -c FILE --backfill" if kind == "backfill" else "cdc-relay replay -c FILE --resume"
        yield Doubt(
            f"{kind} {run} is not finished and reads the table",
            f"finish it: {again}; or give it up: UPDATE cdc_relay.replays SET state = 'abandoned' WHERE id = '{run}'",
        )
    for gap in evidence.gaps:
        yield Doubt(
            f"gap {gap} was accepted, and nobody has said that its events are published: they are in the table alone",
            f"replay it (SELECT replay FROM cdc_relay.gaps WHERE id = {gap}); then say so:"
            f" UPDATE cdc_relay.gaps SET closed_at = now() WHERE id = {gap}",
        )
