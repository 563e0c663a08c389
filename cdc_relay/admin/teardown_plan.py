"""What teardown refuses, and the SQL that it runs, decided from the facts. Pure: facts in, findings and steps out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cdc_relay.admin.teardown_facts import LOT_TABLES, PublicationThere, SchemaThere, SlotThere
from cdc_relay.config import quote_identifier
from cdc_relay.sources.preflight import Finding, Wanted

__all__ = ["Step", "TeardownFacts", "find_obstacles", "steps_at_lot", "steps_at_source"]


@dataclass(frozen=True, slots=True)
class TeardownFacts:
    database: str
    slot: SlotThere | None
    waiting_rows: int | None  # None: could not be counted
    processes: tuple[int, ...]
    publication: PublicationThere | None
    schema: SchemaThere | None  # beside the slot
    lot: SchemaThere | None  # the same one, unless the lot is elsewhere
    lot_is_elsewhere: bool = False

    def with_waiting_rows(self, count: int | None) -> TeardownFacts:
        return replace(self, waiting_rows=count)


@dataclass(frozen=True, slots=True)
class Step:
    title: str
    statements: tuple[str, ...]
    needs: str  # what helps where the role may not


def find_obstacles(facts: TeardownFacts, wanted: Wanted) -> Iterator[Finding]:
    slot, name = facts.slot, wanted.slot
    drop = f"SELECT pg_drop_replication_slot('{name}')"
    if slot is not None and slot.database != facts.database:
        whose = f"database {slot.database}" if slot.database else "no database: it is a physical slot"
        yield Finding(
            f"slot {name} belongs to {whose}, and source.dsn connects to {facts.database}",
            "correct source.dsn or source.slot; nothing was changed",
        )
    elif slot is not None and slot.plugin != "pgoutput":
        yield Finding(
            f"slot {name} has the plugin {slot.plugin}: cdc-relay did not make it",
            f"correct source.slot; or, if nobody needs it, drop it yourself: {drop}",
        )
    elif slot is not None and slot.reader_pid is not None:
        yield _in_use(f"slot {name} is being read", slot.reader_pid)
    elif facts.processes:
        yield _in_use(f"a cdc-relay for slot {name} runs, and does not read at this moment", *facts.processes)


def _in_use(problem: str, *pids: int) -> Finding:
    listed = ", ".join(map(str, pids))
    return Finding(
        f"{problem} (Postgres' PID {listed})",
        "stop every cdc-relay of this slot (SIGTERM), so that what is open is delivered and confirmed, and run teardown"
        " again; where they run: SELECT pid, application_name, client_addr, backend_start FROM pg_stat_activity"
        f" WHERE pid IN ({listed})",
    )


def steps_at_source(facts: TeardownFacts, wanted: Wanted, *, role: str, with_lot: bool) -> Iterator[Step]:
    """The slot last: dropping it is the only step that a rollback does not undo."""
    if facts.schema is not None:
        has_lot = not facts.lot_is_elsewhere
        yield from _schema_steps(facts.schema, wanted.slot, role=role, with_lot=with_lot, is_lot=has_lot)
    if facts.publication is not None:
        drop = f"DROP PUBLICATION IF EXISTS {quote_identifier(wanted.publication)}"
        owner = quote_identifier(facts.publication.owner)
        needs = f"as {owner}, who owns it: {drop}; then run teardown again"
        yield Step(f"publication {quote_identifier(wanted.publication)}: dropped", (drop,), needs)
    if facts.slot is not None:
        drop = f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{wanted.slot}'"
        yield Step(f"slot {wanted.slot}: dropped", (drop,), f"ALTER ROLE {quote_identifier(role)} REPLICATION")


def steps_at_lot(facts: TeardownFacts, wanted: Wanted, *, role: str) -> Iterator[Step]:
    """Where the lot has a database of its own."""
    if facts.lot is not None:
        yield from _schema_steps(facts.lot, wanted.slot, role=role, with_lot=True, is_lot=True)


def _schema_steps(schema: SchemaThere, slot: str, *, role: str, with_lot: bool, is_lot: bool) -> Iterator[Step]:
    if with_lot and not schema.other_slots:
        yield _drop_schema(schema)
        return
    tables = list(schema.slot_tables)
    if with_lot and is_lot and schema.has_lot:
        tables += LOT_TABLES
    if tables:
        yield _delete_rows(schema, tables, slot, role=role)


def _drop_schema(schema: SchemaThere) -> Step:
    """Table by table: what somebody else keeps in the schema, or built upon it, stops the drop."""
    statements = (*schema.drop_statements, "DROP SCHEMA IF EXISTS cdc_relay")
    needs = f"as {quote_identifier(schema.owner)}, who owns it: DROP SCHEMA cdc_relay CASCADE; then run teardown again"
    return Step(f"schema cdc_relay in database {schema.database}: dropped", statements, needs)


def _delete_rows(schema: SchemaThere, tables: list[str], slot: str, *, role: str) -> Step:
    statements = tuple(f"DELETE FROM cdc_relay.{quote_identifier(table)} WHERE slot = '{slot}'" for table in tables)
    listed = ", ".join(f"cdc_relay.{quote_identifier(table)}" for table in tables)
    title = f"schema cdc_relay in database {schema.database}: rows of slot {slot} removed from {', '.join(tables)}"
    return Step(title, statements, f"GRANT SELECT, DELETE ON {listed} TO {quote_identifier(role)}")
