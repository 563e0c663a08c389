"""`cdc-relay setup`: makes what `run` needs in Postgres, or shows the SQL for it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from cdc_relay.admin.notice import Kind, Notice
from cdc_relay.admin.outbox_table import NewTables, psql_script
from cdc_relay.admin.retention.kept import kept_tables
from cdc_relay.admin.retention.months import months_ahead
from cdc_relay.admin.scripts import render_all
from cdc_relay.admin.setup import set_up
from cdc_relay.cli.options import config_option
from cdc_relay.config import RelayConfig, load
from cdc_relay.target import conninfo_of, parking_conninfo_of, wanted_of

__all__ = ["setup_command"]

_NO_MONTHS = (
    "nobody makes partitions for the months after the next two, and rows would be refused then; add to the file:"
    " retention: {partitions: true} (docs/retention.md)"
)


@click.command("setup")
@config_option
@click.option("--print", "print_only", is_flag=True, help="Show the SQL for a DBA (psql -f) and connect to nothing.")
@click.option("--outbox-table", is_flag=True, help="Also create the outbox tables that are missing, before the rest.")
@click.option("--partitioned", is_flag=True, help="With --outbox-table: partitioned by month.")
@click.option("--backfill", is_flag=True, help="Publish the rows that were committed before the slot, too.")
@click.option("--rate", metavar="N", type=click.IntRange(1), help="With --backfill: at most N rows a second.")
def setup_command(
    config_path: Path, print_only: bool, outbox_table: bool, partitioned: bool, backfill: bool, rate: int | None
) -> None:
    """Create publication, slot and schema where they are missing, and verify what is there.

    Runs as the role of source.dsn, which must own the tables; `run` needs less (docs/privileges.md). With parking.dsn
    the schema is made in that database, by its role.

    --outbox-table creates each table of the file that is missing, with the columns that the file names; one that is
    there is left as it is. --partitioned makes partitions for this month and the next two; retention makes the later.

    --backfill makes the slot and publishes every row that was committed before it: without a failure each row once,
    and none twice with what `run` streams later. Records have the header cdc-relay-backfill. If it is stopped or dies,
    `run` refuses, and --backfill begins again with a new slot (docs/replay.md).

    \b
      cdc-relay setup -c relay.yaml
      cdc-relay setup -c relay.yaml --print > setup.sql
      cdc-relay setup -c relay.yaml --outbox-table --partitioned
      cdc-relay setup -c relay.yaml --backfill --rate 500
    """
    _check_options(print_only, outbox_table, partitioned, backfill, rate)
    config = load(config_path)
    new_tables = _new_tables(config, partitioned=partitioned) if outbox_table else None
    if print_only:
        _print(config, new_tables)
        return
    _set_up(config, new_tables, backfill=backfill)
    if backfill:
        _backfill(config, rate)


def _check_options(print_only: bool, outbox_table: bool, partitioned: bool, backfill: bool, rate: int | None) -> None:
    if (backfill and print_only) or (rate is not None and not backfill):
        raise click.UsageError("--backfill publishes, so it has no --print; --rate is for --backfill")
    if partitioned and not outbox_table:
        raise click.UsageError("--partitioned is for --outbox-table: a table that is there stays as it is")


def _new_tables(config: RelayConfig, *, partitioned: bool) -> NewTables:
    return NewTables(partitioned, frozenset(table.label for table in kept_tables(config) if table.keep_seconds))


def _set_up(config: RelayConfig, new_tables: NewTables | None, *, backfill: bool) -> None:
    for notice in set_up(
        conninfo_of(config),
        wanted_of(config),
        parking_conninfo=None if config.parking.dsn is None else parking_conninfo_of(config),
        backfill=backfill,
        new_tables=new_tables,
    ):
        _show(notice)
    if new_tables is not None and new_tables.partitioned and not config.retention.partitions:
        _show(Notice(Kind.WARNING, _NO_MONTHS))


def _backfill(config: RelayConfig, rate: int | None) -> None:
    from cdc_relay.cli.backfill import run_backfill  # it needs Kafka's library, which setup alone does not

    run_backfill(config, rate=rate)


def _print(config: RelayConfig, new_tables: NewTables | None) -> None:
    wanted, months = wanted_of(config), months_ahead(datetime.now(UTC))
    boxes = () if new_tables is None else wanted.tables
    tables = [psql_script(box, new_tables, months=months) for box in boxes if new_tables is not None]
    click.echo(render_all(wanted, parks_elsewhere=config.parking.dsn is not None, tables=tables), nl=False)


def _show(notice: Notice) -> None:
    if notice.kind is Kind.STEP:
        click.echo(notice.text)
    else:
        click.echo(f"{notice.kind.value}: {notice.text}", err=True)
