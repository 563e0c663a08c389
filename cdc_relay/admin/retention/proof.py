"""Whether it is sure which rows are settled: the guard's mark, judged. Reads; removes nothing.

A row may go only if its transaction is before the mark. While anything is in doubt, no row goes: what the slot does not
have any more can come from the table alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

from cdc_relay.admin.retention.others import OtherReader, read_others, readers_of
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
# $1 slot, $2 its tables. A slot that is being made by a backfill has no guard yet, by which it would be known.
_UNFINISHED = """
SELECT json_build_array(id, kind) FROM cdc_relay.replays r
 WHERE state = 'running' AND (slot = $1 OR (NOT EXISTS (SELECT FROM cdc_relay.guard g WHERE g.slot = r.slot)
   AND selection -> 'outboxes' ?| ARRAY(SELECT json_array_elements_text($2::json))))
 ORDER BY began_at
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
    others: tuple[OtherReader, ...] = ()  # of this database

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
        runs=tuple(_read_runs(line, wanted)),
        gaps=tuple(gap or "" for (gap,) in line.query(_OPEN_GAPS, [wanted.slot])),
        others=read_others(line, wanted.slot),
    )


def _read_runs(line: Line, wanted: Wanted) -> Iterator[tuple[str, str]]:
    labels = json.dumps([box.label for box in wanted.tables])
    for (row,) in line.query(_UNFINISHED, [wanted.slot, labels]):
        run, kind = json.loads(row or "[]")
        yield run, kind


def prove(evidence: Evidence, wanted: Wanted, *, table: str, keep_seconds: float) -> Proof | Doubt:
    """The first reason against removing anything of the table, or what may go."""
    guard = evidence.guard
    if guard is None:
        return Doubt("the guard has no row of this slot, so nobody knows what is settled", f"start the relay: {_RUN}")
    others = readers_of(table, evidence.others)
    own = _doubts(evidence, guard, wanted, table, keep_seconds)
    theirs = (doubt for other in others for doubt in _doubts_of(other, evidence.server, keep_seconds))
    doubt = next(chain(own, theirs), None)
    xid = min([guard.settled.xid, *(other.settled_xid for other in others)])
    return doubt or Proof(xid, evidence.server.mark.at - timedelta(seconds=keep_seconds))


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
    yield from _lags(guard.settled.xid, guard.settled.at, server, keep_seconds)
    yield from _needs(evidence.runs, evidence.gaps)


def _doubts_of(other: OtherReader, server: Server, keep_seconds: float) -> Iterator[Doubt]:
    """What its relay has not settled must stay, too. A slot that is gone for good leaves its guard's row behind."""
    forget = f"DELETE FROM cdc_relay.guard WHERE slot = '{other.slot}'"
    who, remedy = f"slot {other.slot} reads the table too", f"see to its relay; or, if it is gone for good: {forget}"
    if other.system_identifier != server.system_identifier:
        yield Doubt(f"{who}, on another server", remedy)
    if other.timeline != server.timeline:
        yield Doubt(f"{who}, and after a failover its relay has not taken over yet", remedy)
    for doubt in _lags(other.settled_xid, other.settled_at, server, keep_seconds):
        yield Doubt(f"{who}, and there {doubt.problem}", remedy)
    for doubt in _needs(other.runs, other.gaps):
        yield Doubt(f"{who}: {doubt.problem}", doubt.remedy)


def _lags(xid: int, at: datetime, server: Server, keep_seconds: float) -> Iterator[Doubt]:
    if server.mark.at - at >= timedelta(seconds=keep_seconds):
        yield Doubt(
            f"only what was committed before {at:%Y-%m-%d %H:%M:%S} UTC is surely published or parked, and that is"
            f" longer ago than rows are kept ({format_duration(keep_seconds)})",
            "see why the relay lags: cdc-relay status -c FILE",
        )
    if server.mark.xid - xid >= _FARTHEST:
        yield Doubt("more than a billion transactions are not surely settled", f"let the relay catch up: {_RUN}")


def _needs(runs: Iterable[tuple[str, str]], gaps: Iterable[str]) -> Iterator[Doubt]:
    """What may still be read from the table."""
    for run, kind in runs:
        again = "cdc-relay setup -c FILE --backfill" if kind == "backfill" else "cdc-relay replay -c FILE --resume"
        yield Doubt(
            f"{kind} {run} is not finished and reads the table",
            f"finish it: {again}; or give it up: UPDATE cdc_relay.replays SET state = 'abandoned' WHERE id = '{run}'",
        )
    for gap in gaps:
        yield Doubt(
            f"gap {gap} was accepted, and nobody has said that its events are published: they are in the table alone",
            f"replay it (SELECT replay FROM cdc_relay.gaps WHERE id = {gap}); then say so:"
            f" UPDATE cdc_relay.gaps SET closed_at = now() WHERE id = {gap}",
        )
