"""Retention, looked at: time column, index, rights, and whether anything keeps rows from going. Changes nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

from cdc_relay.admin.check.finding import Finding, fail, ok, warn
from cdc_relay.admin.check.lines import as_own, open_line, reach
from cdc_relay.admin.retention.kept import KeptTable, kept_tables
from cdc_relay.admin.retention.lot import may_remove_resolved
from cdc_relay.admin.retention.proof import Doubt, Evidence, prove, read_settled_evidence
from cdc_relay.admin.retention.table_facts import TableState, read_table
from cdc_relay.admin.retention.table_rules import find_obstacles, has_months
from cdc_relay.admin.retention.troubles import explain
from cdc_relay.config import RelayConfig, quote_identifier
from cdc_relay.config.units import format_duration
from cdc_relay.errors import RelayError
from cdc_relay.sources.line import Line
from cdc_relay.sources.preflight import Wanted
from cdc_relay.sources.remedy import SETUP, shell, sql, words
from cdc_relay.sources.schema import lot_grant
from cdc_relay.target import parking_conninfo_of, wanted_of

__all__ = ["check_retention", "judge_table"]


def check_retention(config: RelayConfig) -> Iterator[Finding]:
    """Silent where Postgres cannot be reached: that is another finding."""
    line = reach(config)
    if line is None:
        return
    with closing(line):
        try:
            yield from _check_lot(config)
            yield from _check_tables(config, line)
        except RelayError as exc:
            trouble, remedy = explain(exc)
            fix = shell(remedy) if remedy == str(SETUP) else words(remedy)
            yield warn("retention", f"could not be looked at: {trouble}", fix)


def _check_lot(config: RelayConfig) -> Iterator[Finding]:
    keep_seconds = config.retention.lot_seconds
    if not keep_seconds:
        yield ok("retention.lot", "off")
        return
    setting = "source.dsn" if config.parking.dsn is None else "parking.dsn"
    with closing(open_line(as_own(parking_conninfo_of(config), config.source.slot), setting=setting)) as line:
        if may_remove_resolved(line):
            yield ok("retention.lot", f"records that are done with stay {format_duration(keep_seconds)}")
        else:
            role = quote_identifier(line.place.user)
            found = f"role {role} may not remove records of the lot"
            yield warn("retention.lot", found, sql(lot_grant(role)), words("or retention: {lot: off}"))


def _pause(seconds: float) -> bool:
    """Nobody asks a check to go no further."""
    time.sleep(seconds)
    return False


def _check_tables(config: RelayConfig, line: Line) -> Iterator[Finding]:
    tables = kept_tables(config)
    if not any(table.keep_seconds for table in tables):
        yield ok("retention", "rows of the outbox tables stay for ever")
    if not tables:
        return
    wanted = wanted_of(config)
    evidence = read_settled_evidence(line, wanted, pause=_pause)
    for table in tables:
        yield from judge_table(table, read_table(line, table))
        if table.keep_seconds:
            yield _judge_proof(table, evidence, wanted)


def judge_table(table: KeptTable, state: TableState | None) -> Iterator[Finding]:
    obstacles = list(find_obstacles(table, state))
    for each in obstacles:
        level = fail if each.name == "retention.time" else warn
        yield level(each.name, each.problem, *each.steps)
    if state is None or obstacles:
        return
    yield ok("retention.time", f"{table.label}: {quote_identifier(table.time_column)}, a {state.time_type}")
    if table.keep_seconds and not has_months(table, state):
        yield _judge_index(table, state)


def _judge_index(table: KeptTable, state: TableState) -> Finding:
    column = quote_identifier(table.time_column)
    if state.has_index:
        return ok("retention.index", f"{table.label}: one begins with {column}")
    how = "" if state.is_partitioned else "CONCURRENTLY "  # which a partitioned table does not know
    make = sql(f"CREATE INDEX {how}ON {table.label} ({column})")
    return warn("retention.index", f"{table.label} has no index that begins with {column}", make)


def _judge_proof(table: KeptTable, evidence: Evidence, wanted: Wanted) -> Finding:
    proof = prove(evidence, wanted, table=table.label, keep_seconds=table.keep_seconds)
    if isinstance(proof, Doubt):
        return warn("retention", f"no row of {table.label} goes: {proof.problem}", words(proof.remedy))
    return ok("retention", f"rows of {table.label} stay {format_duration(table.keep_seconds)}")
