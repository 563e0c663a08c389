"""`cdc-relay setup`: publication, slot, schema, in this order, each only where it is missing.

Owns the order of the steps and what is told about them. What is wrong for good is judged by the same preflight that
`run` uses, once before anything is made and once after. The SQL is in `admin/sql`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import closing

from cdc_relay.admin.failover import find_failover_hint
from cdc_relay.admin.notice import Kind, Notice
from cdc_relay.admin.outbox_table import NewTables
from cdc_relay.admin.refusals import explained
from cdc_relay.admin.scripts import SLOT, render, render_publication, render_schema
from cdc_relay.admin.setup_line import begin, run_step
from cdc_relay.admin.setup_plan import SetupPlan, as_if_made, plan_setup
from cdc_relay.admin.setup_tables import make_tables
from cdc_relay.admin.setup_warnings import find_warnings
from cdc_relay.config import quote_identifier
from cdc_relay.errors import RefusedError
from cdc_relay.protocol.lsn import format_lsn
from cdc_relay.routing.router import Outbox
from cdc_relay.sources.catalog import Facts, read_facts
from cdc_relay.sources.guard import find_problem, see_publication
from cdc_relay.sources.guard_table import GuardTable
from cdc_relay.sources.line import Line
from cdc_relay.sources.preflight import Wanted, find_problems, refuse
from cdc_relay.sources.schema import AT_LOT, AT_SOURCE, NEWEST, SCHEMA_SCRIPTS, grants, lot_grant
from cdc_relay.sources.unfinished_backfill import refuse_unfinished_backfill

__all__ = ["Kind", "Notice", "set_up"]

_TABLE_NEEDS = "the role of source.dsn must own the tables (and the publication) and have CREATE on the database"
_SLOT_NEEDS = "ALTER ROLE <the role of source.dsn> REPLICATION"
_SCHEMA_NEEDS = "GRANT CREATE ON DATABASE <the database> TO <the role of {}>, or run setup as cdc_relay's owner"
_HINT = (
    "run needs less than setup; a role of its own (docs/privileges.md):"
    f" CREATE ROLE relay LOGIN REPLICATION; {grants('relay')}; {lot_grant('relay')};"
)
_VERSION_TABLE = """
SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = 'cdc_relay' AND c.relname = 'schema_version'
"""


def set_up(
    conninfo: str,
    wanted: Wanted,
    *,
    parking_conninfo: str | None = None,
    backfill: bool = False,
    new_tables: NewTables | None = None,
) -> Iterator[Notice]:
    """Carried out as it is iterated, so that each step is shown when it is done.

    With `parking_conninfo` the lot goes there, and there nothing else is made. A backfill makes the slot itself. With
    `new_tables` the outbox tables that are missing come first.
    """
    with closing(Line.open(conninfo)) as line:
        begin(line)
        if not backfill:
            _refuse_backfill(line, wanted)
        if new_tables is not None:
            yield from make_tables(line, _read(line, wanted), wanted, new_tables)
        facts = _read(line, wanted)
        plan = plan_setup(facts, wanted)
        refuse(find_problems(as_if_made(facts), wanted))
        yield from _make(line, plan, wanted, parking_conninfo=parking_conninfo, with_slot=not backfill)
        if backfill:
            return
        yield from _verify(line, conninfo, wanted)
    yield from (Notice(Kind.WARNING, warning) for warning in find_warnings(conninfo, plan, wanted))
    yield Notice(Kind.HINT, _HINT)


def _refuse_backfill(line: Line, wanted: Wanted) -> None:
    with explained("read cdc_relay.replays", needs=_SCHEMA_NEEDS.format("source.dsn")):
        refuse_unfinished_backfill(line, wanted.slot)


def _make(
    line: Line, plan: SetupPlan, wanted: Wanted, *, parking_conninfo: str | None, with_slot: bool
) -> Iterator[Notice]:
    yield _make_publication(line, plan, wanted)
    if with_slot:
        yield _make_slot(line, plan, wanted)
    yield _make_schema(line, SCHEMA_SCRIPTS if parking_conninfo is None else AT_SOURCE)
    if parking_conninfo is not None:
        yield _make_lot_elsewhere(parking_conninfo)


def _verify(line: Line, conninfo: str, wanted: Wanted) -> Iterator[Notice]:
    refuse(find_problems(_read(line, wanted), wanted))
    yield from _begin_guard(line, wanted)
    if hint := find_failover_hint(line, conninfo, wanted.slot):
        yield Notice(Kind.HINT, hint)


def _read(line: Line, wanted: Wanted) -> Facts:
    tables = [(box.schema, box.name) for box in wanted.tables]
    with explained("read the catalog", needs="the role of source.dsn must be allowed to read pg_catalog"):
        return read_facts(line, slot=wanted.slot, publication=wanted.publication, tables=tables)


def _make_publication(line: Line, plan: SetupPlan, wanted: Wanted) -> Notice:
    name = quote_identifier(wanted.publication)
    boxes = wanted.tables if plan.create_publication else plan.add_tables
    if not boxes and not plan.create_publication:
        return Notice(Kind.STEP, f"publication {name}: already there, with {_labels(wanted.tables)}")
    with explained(f"publication {name}", needs=_TABLE_NEEDS):
        # One message is one transaction: all tables or none.
        run_step(line, "\n".join(render_publication(wanted, boxes)))
    if plan.create_publication:
        return Notice(Kind.STEP, f"publication {name}: created for {_labels(boxes)}")
    return Notice(Kind.STEP, f"publication {name}: already there, added {_labels(boxes)}")


def _make_slot(line: Line, plan: SetupPlan, wanted: Wanted) -> Notice:
    with explained(f"slot {wanted.slot}", needs=_SLOT_NEEDS):
        if plan.create_slot:
            run_step(line, render(SLOT, {"slot": wanted.slot}))
    slot = _read(line, wanted).slot
    confirmed = format_lsn(slot.confirmed_lsn if slot else 0)
    outcome = "created" if plan.create_slot else "already there"
    return Notice(Kind.STEP, f"slot {wanted.slot}: {outcome}, confirmed up to {confirmed}")


def _make_schema(line: Line, versions: Collection[int], setting: str = "source.dsn") -> Notice:
    with explained("schema cdc_relay", needs=_SCHEMA_NEEDS.format(setting)):
        missing = _missing_versions(line, versions)
        for script in render_schema(missing):
            run_step(line, script)
    return Notice(Kind.STEP, f"schema cdc_relay: {_describe(missing, versions)}, version {max(versions)}")


def _make_lot_elsewhere(conninfo: str) -> Notice:
    with closing(Line.open(conninfo, setting="parking.dsn")) as line:
        begin(line, "parking.dsn")
        notice = _make_schema(line, AT_LOT, "parking.dsn")
        return Notice(notice.kind, f"{notice.text}, in database {line.place.database} of parking.dsn")


def _begin_guard(line: Line, wanted: Wanted) -> Iterator[Notice]:
    """One that is there stays: it remembers what a slot that was made anew does not have."""
    with explained("slot guard", needs=_SCHEMA_NEEDS.format("source.dsn")):
        facts = _read(line, wanted)
        table = GuardTable(wanted.slot, [(box.schema, box.name) for box in wanted.tables])
        guard = table.read(line)
        if guard is None and facts.slot is not None and facts.slot.active_pid is not None:
            yield Notice(Kind.STEP, "slot guard: begun by the first run, because somebody reads the slot now")
            return
        if guard is None:
            confirmed_lsn = 0 if facts.slot is None else facts.slot.confirmed_lsn
            table.begin(line, see_publication(facts, wanted), ceiling_lsn=confirmed_lsn)
            yield Notice(Kind.STEP, f"slot guard: begun at {format_lsn(confirmed_lsn)}")
            return
        problem = find_problem(guard, facts, table.read_server(line), wanted)
    yield Notice(Kind.STEP, f"slot guard: already there, ceiling {format_lsn(guard.ceiling_lsn)}")
    if problem is not None:
        said, remedy = problem.finding.problem, problem.finding.remedy
        yield Notice(Kind.WARNING, f"run will refuse to start: {said}\n  what to do: {remedy}")


def _describe(missing: list[int], versions: Collection[int]) -> str:
    if not missing:
        return "already there"
    return "created" if len(missing) == len(versions) else "brought up to date"


def _missing_versions(line: Line, versions: Collection[int]) -> list[int]:
    applied: set[int] = set()
    if line.query(_VERSION_TABLE):
        applied = {int(version or 0) for (version,) in line.query("SELECT version FROM cdc_relay.schema_version")}
    if newer := applied - SCHEMA_SCRIPTS.keys():
        raise RefusedError(
            f"schema cdc_relay has version {max(newer)}, this cdc-relay knows {NEWEST}",
            remedy="run the newer cdc-relay that made it",
        )
    return sorted(set(versions) - applied)


def _labels(boxes: Iterable[Outbox]) -> str:
    return ", ".join(box.label for box in boxes) or "no table"
