"""`cdc-relay setup`: makes what `run` needs in Postgres, or shows the SQL for it."""

from __future__ import annotations

from pathlib import Path

import click

from cdc_relay.admin.scripts import render_all
from cdc_relay.admin.setup import Kind, Notice, set_up
from cdc_relay.cli.options import config_option
from cdc_relay.config import load
from cdc_relay.target import conninfo_of, parking_conninfo_of, wanted_of

__all__ = ["setup_command"]


@click.command("setup")
@config_option
@click.option("--print", "print_only", is_flag=True, help="Show the SQL for a DBA (psql -f) and connect to nothing.")
@click.option("--backfill", is_flag=True, help="Publish the rows that were committed before the slot, too.")
@click.option("--rate", metavar="N", type=click.IntRange(1), help="With --backfill: at most N rows a second.")
def setup_command(config_path: Path, print_only: bool, backfill: bool, rate: int | None) -> None:
    """Create publication, slot and schema where they are missing, and verify what is there.

    Runs as the role of source.dsn, which must own the tables; `run` needs less (docs/privileges.md). With parking.dsn
    the schema is made in that database, by its role.

    --backfill makes the slot and publishes every row that was committed before it: without a failure each row once,
    and none twice with what `run` streams later. Records have the header cdc-relay-backfill. If it is stopped or dies,
    `run` refuses, and --backfill begins again with a new slot (docs/replay.md).

    \b
      cdc-relay setup -c relay.yaml
      cdc-relay setup -c relay.yaml --print > setup.sql
      cdc-relay setup -c relay.yaml --backfill --rate 500
    """
    if (backfill and print_only) or (rate is not None and not backfill):
        raise click.UsageError("--backfill publishes, so it has no --print; --rate is for --backfill")
    config = load(config_path)
    if print_only:
        click.echo(render_all(wanted_of(config), parks_elsewhere=config.parking.dsn is not None), nl=False)
        return
    parking_conninfo = None if config.parking.dsn is None else parking_conninfo_of(config)
    notices = set_up(conninfo_of(config), wanted_of(config), parking_conninfo=parking_conninfo, backfill=backfill)
    for notice in notices:
        _show(notice)
    if backfill:
        from cdc_relay.cli.backfill import run_backfill  # it needs Kafka's library, which setup alone does not

        run_backfill(config, rate=rate)


def _show(notice: Notice) -> None:
    if notice.kind is Kind.STEP:
        click.echo(notice.text)
    else:
        click.echo(f"{notice.kind.value}: {notice.text}", err=True)
