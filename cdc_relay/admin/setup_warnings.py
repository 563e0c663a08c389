"""What a finished setup leaves out: rows and changes from before, which no slot will deliver. Only looks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing

from cdc_relay.admin.setup_plan import SetupPlan
from cdc_relay.config import quote_identifier
from cdc_relay.errors import RelayError
from cdc_relay.routing.router import Outbox
from cdc_relay.sources.line import Line
from cdc_relay.sources.preflight import Wanted

__all__ = ["COUNT_LIMIT", "find_warnings"]

COUNT_LIMIT = 100_000  # exact up to here; counting a big table to its end could take minutes


def find_warnings(conninfo: str, plan: SetupPlan, wanted: Wanted) -> Iterator[str]:
    if plan.create_slot:
        yield from _row_warnings(conninfo, wanted.tables, "before the slot was created")
        return
    if plan.create_publication:
        yield _older_slot(wanted)
    added = wanted.tables if plan.create_publication else plan.add_tables
    for box in added:
        yield f"{box.label} is in the publication from now on: its earlier changes are not in slot {wanted.slot}"
    yield from _row_warnings(conninfo, added, "before it was in the publication")


def _older_slot(wanted: Wanted) -> str:
    # Measured: 15 and 16 fail with "publication does not exist" for ever, 18 skips the rows in silence.
    return (
        f"slot {wanted.slot} is older than publication {quote_identifier(wanted.publication)}; if run reports that the"
        " publication does not exist, start with run --accept-gap after you move the slot past this moment:"
        f" SELECT pg_replication_slot_advance('{wanted.slot}', pg_current_wal_lsn())"
    )


def _row_warnings(conninfo: str, boxes: Iterable[Outbox], since: str) -> Iterator[str]:
    for box in boxes:
        if rows := _describe_rows(conninfo, box.label):
            yield (
                f"{box.label} has {rows}; those committed {since} are not in the slot and will not be published by run;"
                " if they are wanted: cdc-relay replay -c FILE (docs/replay.md)"
            )


def _describe_rows(conninfo: str, table: str) -> str:
    try:
        count = _count_rows(conninfo, table)
    except RelayError as exc:
        return f"rows that could not be counted ({exc.message})"
    if count > COUNT_LIMIT:
        return f"more than {COUNT_LIMIT:,} rows"
    return f"{count:,} row{'s' if count > 1 else ''}" if count else ""


def _count_rows(conninfo: str, table: str) -> int:
    # On a line of its own: a refusal (no SELECT, or the time limit on a bloated table) must not end setup.
    with closing(Line.open(conninfo)) as line:
        [(count,)] = line.query(f"SELECT count(*) FROM (SELECT FROM {table} LIMIT {COUNT_LIMIT + 1}) AS some_rows")
    return int(count or 0)
