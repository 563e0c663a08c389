"""`cdc-relay retention`: one pass now, for cron and for looking. What is removed and when is in admin/retention."""

from __future__ import annotations

import select
import sys
from pathlib import Path

import click

from cdc_relay.admin.retention.sweep import Sweep
from cdc_relay.admin.retention.text import lines
from cdc_relay.cli.options import config_option
from cdc_relay.cli.run import stop_on_signals
from cdc_relay.config import load

__all__ = ["retention_command"]


@click.command("retention")
@config_option
@click.option("--dry-run", is_flag=True, help="Show what would be removed, made and dropped; change nothing.")
def retention_command(config_path: Path, dry_run: bool) -> None:
    """Do now what the running relay does every hour: remove what is older than the file's retention: says.

    Removes resolved records of the lot and, where that is switched on, rows of the outbox tables that are surely
    published or parked; makes and drops monthly partitions. In small batches; Ctrl-C ends it after the one that runs.
    Runs as the role of source.dsn, so an owner's cron can do what the relay's role may not (docs/retention.md).

    Exits with 3 when something was left undone that an operator has to see to.

    \b
      cdc-relay retention -c relay.yaml --dry-run
      cdc-relay retention -c relay.yaml
    """
    config = load(config_path)
    stop = stop_on_signals()
    sweep = Sweep(config, pause=lambda seconds: bool(select.select([stop], [], [], seconds)[0]), dry_run=dry_run)
    is_troubled = False
    for swept in sweep.run():
        click.echo("\n".join(lines(swept, dry_run=dry_run)))
        is_troubled |= bool(swept.trouble)
    if stop.requested:
        click.echo("stopped before the end; what was done is done", err=True)
    sys.exit(1 if stop.requested else 3 if is_troubled else 0)
