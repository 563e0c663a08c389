"""setup's first step, where it is asked for: outbox tables that are missing. What is there is left as it is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from cdc_relay.admin.notice import Kind, Notice
from cdc_relay.admin.outbox_table import NewTables, create_sql, find_unmapped, new_id
from cdc_relay.admin.refusals import explained
from cdc_relay.admin.retention.months import months_ahead
from cdc_relay.admin.setup_line import run_step
from cdc_relay.config import quote_identifier
from cdc_relay.routing.outbox import Outbox
from cdc_relay.sources.catalog import Facts
from cdc_relay.sources.line import Line
from cdc_relay.sources.preflight import Wanted

__all__ = ["make_tables"]


def make_tables(line: Line, facts: Facts, wanted: Wanted, new: NewTables) -> Iterator[Notice]:
    for box in wanted.tables:
        if (box.schema, box.name) in facts.tables:
            yield Notice(Kind.STEP, f"table {box.label}: already there, left as it is")
            continue
        needs = f"GRANT CREATE ON SCHEMA {quote_identifier(box.schema)} TO <the role of source.dsn>"
        with explained(f"table {box.label}", needs=needs):
            _make(line, box, new, facts.server_version)
        partitioned = ", partitioned by month" if new.partitioned else ""
        yield Notice(Kind.STEP, f"table {box.label}: created{partitioned}")
        yield from _hints(box)


def _make(line: Line, box: Outbox, new: NewTables, server_version: int) -> None:
    months = months_ahead(datetime.now(UTC))
    run_step(line, create_sql(box, new, id_default=new_id(server_version), months=months))


def _hints(box: Outbox) -> Iterator[Notice]:
    if unmapped := find_unmapped(box):
        mapping = ", ".join(f"{part}: {part}" for part in unmapped)
        yield Notice(
            Kind.HINT, f"nothing reads these columns of {box.label} until the file maps them: columns: {{{mapping}}}"
        )
