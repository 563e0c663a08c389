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
def setup_command(config_path: Path, print_only: bool) -> None:
    """Create publication, slot and schema where they are missing, and verify what is there.

    Runs as the role of source.dsn, which must own the tables; `run` needs less (docs/privileges.md). With parking.dsn
    the schema is made in that database, by its role.
    """
    config = load(config_path)
    if print_only:
        click.echo(render_all(wanted_of(config), parks_elsewhere=config.parking.dsn is not None), nl=False)
        return
    parking_conninfo = None if config.parking.dsn is None else parking_conninfo_of(config)
    for notice in set_up(conninfo_of(config), wanted_of(config), parking_conninfo=parking_conninfo):
        _show(notice)


def _show(notice: Notice) -> None:
    if notice.kind is Kind.STEP:
        click.echo(notice.text)
    else:
        click.echo(f"{notice.kind.value}: {notice.text}", err=True)
