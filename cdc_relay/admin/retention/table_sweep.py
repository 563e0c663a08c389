"""An outbox table's part of a pass: its months, or its rows."""

from __future__ import annotations

from datetime import UTC, datetime

from cdc_relay.admin.retention.kept import KeptTable
from cdc_relay.admin.retention.months import MonthPlan, Partition, parse_bound, plan_months
from cdc_relay.admin.retention.partitions import count_rows, drop_month, leaf_label, make_month
from cdc_relay.admin.retention.proof import Doubt, Proof, prove, read_settled_evidence
from cdc_relay.admin.retention.rows import count_old_rows, remove_batch
from cdc_relay.admin.retention.swept import Swept, Tally
from cdc_relay.admin.retention.table_facts import TableState, read_table
from cdc_relay.admin.retention.table_rules import find_obstacles, has_months
from cdc_relay.admin.retention.troubles import explain
from cdc_relay.sources.line import Line, QueryError
from cdc_relay.sources.preflight import Wanted

__all__ = ["sweep_table"]

_PAUSE_SECONDS = 0.1  # between two batches: others come first


def sweep_table(line: Line, wanted: Wanted, table: KeptTable, tally: Tally) -> Swept:
    state = read_table(line, table)
    obstacle = next(find_obstacles(table, state), None)
    if obstacle is not None and not obstacle.is_trouble:
        tally.notes.append(obstacle.problem)
        return tally.swept()
    if obstacle is not None or state is None:
        return tally.swept(obstacle.problem, obstacle.remedy) if obstacle else tally.swept()
    if has_months(table, state):
        return _sweep_months(line, wanted, table, state, tally)
    return _sweep_rows(line, wanted, table, tally)


def _prove(line: Line, wanted: Wanted, table: KeptTable, tally: Tally) -> Proof | Doubt:
    """Anew before each step: a gap, a replay or a lag may have come meanwhile."""
    evidence = read_settled_evidence(line, wanted, pause=tally.pause)
    return prove(evidence, wanted, table=table.label, keep_seconds=table.keep_seconds)


def _sweep_rows(line: Line, wanted: Wanted, table: KeptTable, tally: Tally) -> Swept:
    while True:
        proof = _prove(line, wanted, table, tally)
        if isinstance(proof, Doubt):
            return tally.swept(proof.problem, proof.remedy)
        if tally.dry_run:
            tally.removed, tally.is_more = count_old_rows(line, table, proof)
            return tally.swept()
        count = remove_batch(line, table, proof)
        tally.add_removed(count)
        if not count or tally.pause(_PAUSE_SECONDS):
            return tally.swept()


def _sweep_months(line: Line, wanted: Wanted, table: KeptTable, state: TableState, tally: Tally) -> Swept:
    """What is to come first: it needs no proof. Where it cannot be made, what is over goes all the same."""
    proof = _prove(line, wanted, table, tally) if table.keep_seconds else None
    cutoff = proof.cutoff if isinstance(proof, Proof) else None
    try:
        plan = _plan(line, state, cutoff)
    except ValueError as exc:
        return tally.swept(str(exc), "leave out retention.partitions, and rows are removed instead")
    tally.notes += plan.notes
    trouble = _make(line, table, state, plan, tally)
    doubt = _drop_months(line, wanted, table, plan, tally, owner=state.owner) if plan.drop else proof
    if isinstance(doubt, Doubt):
        trouble = trouble or (doubt.problem, doubt.remedy)
    return tally.swept(*trouble)


def _plan(line: Line, state: TableState, cutoff: datetime | None) -> MonthPlan:
    partitions = [parse_bound(leaf.name, leaf.bound, is_foreign=leaf.is_foreign) for leaf in state.leaves]
    [(now,)] = line.query("SELECT extract(epoch FROM now())")
    moments = (datetime.fromtimestamp(float(now or 0), UTC), cutoff)
    naive_now, naive_cutoff = (each and each.astimezone(UTC).replace(tzinfo=None) for each in moments)
    assert naive_now is not None
    return plan_months(partitions, now=naive_now, cutoff=naive_cutoff)


def _make(
    line: Line, table: KeptTable, state: TableState, plan: MonthPlan, tally: Tally
) -> tuple[str, str] | tuple[()]:
    """The trouble with the first month that cannot be made, if any."""
    for month in plan.make:
        if tally.dry_run:
            tally.made.append(leaf_label(table.schema, table.name, month))
            continue
        try:
            tally.made.append(make_month(line, table, month, owner=state.owner))
        except QueryError as exc:
            return explain(exc)
    return ()


def _drop_months(
    line: Line, wanted: Wanted, table: KeptTable, plan: MonthPlan, tally: Tally, *, owner: str
) -> Doubt | None:
    """To read a month may take long: what was sure before is asked again before it goes."""
    for partition in plan.drop:
        proof = _prove(line, wanted, table, tally)
        if isinstance(proof, Doubt) or tally.pause(0):
            return proof if isinstance(proof, Doubt) else None
        count = count_rows(line, partition, owner=owner, proof=proof)
        if count is not None and not tally.dry_run:
            proof = _prove(line, wanted, table, tally)
            if isinstance(proof, Doubt):
                return proof
            count = drop_month(line, partition, owner=owner, proof=proof)
        _note(partition, count, tally)
    return None


def _note(partition: Partition, count: int | None, tally: Tally) -> None:
    if count is None:
        tally.notes.append(f"partition {partition.name} stays: it has a row that is not surely published or parked")
    else:
        tally.dropped.append(partition.name)
        tally.add_removed(count)
