"""`cdc-relay route`: what rows would become. Prints and exits; publishes nothing."""

from __future__ import annotations

from pathlib import Path

import click

from cdc_relay.admin.dry_run import dry_run, dry_run_json, dry_run_text
from cdc_relay.admin.sample_rows import Sample, parse_sample, read_by_id, read_last
from cdc_relay.cli.options import config_option
from cdc_relay.cli.outbox_choice import choose_outbox
from cdc_relay.cli.output import print_json, warn
from cdc_relay.cli.param_types import TEXT
from cdc_relay.config import find_warnings, load
from cdc_relay.routing.outbox import Outbox
from cdc_relay.target import conninfo_of, wanted_of

__all__ = ["route_command"]


@click.command("route")
@config_option
@click.option("--row", metavar="JSON", help="A row as a JSON object of its columns; asks no server.")
@click.option("--id", "event_id", metavar="ID", type=TEXT, help="The row of the live table with this event id.")
@click.option("--last", "last_count", metavar="N", type=click.IntRange(1, 1000), help="The last N rows of the table.")
@click.option("--outbox", "name", metavar="NAME", type=TEXT, help="Which one, of several: its table or its prefix.")
@click.option("--json", "as_json", is_flag=True, help="The same as JSON on stdout, for programs.")
def route_command(
    config_path: Path, row: str | None, event_id: str | None, last_count: int | None, name: str | None, as_json: bool
) -> None:
    """Show what rows would become: the route, why earlier ones did not match, and the record. Nothing is published.

    Exactly one of --row, --id and --last. --id and --last read the table as the role of source.dsn, which needs SELECT
    on it. Exits with 0 also for a row that would be parked or dropped, with 2 if --row or the file makes no sense, with
    3 if there is no such row or Postgres gives none.

    Example: cdc-relay route -c relay.yaml --last 5
    """
    if sum(given is not None for given in (row, event_id, last_count)) != 1:
        raise click.UsageError("give exactly one of --row, --id and --last")
    config = load(config_path)
    warn(find_warnings(config))
    outbox = choose_outbox(wanted_of(config).outboxes, name)
    if row is not None:
        samples = [parse_sample(row, outbox)]
    elif event_id is not None:
        samples = read_by_id(conninfo_of(config), outbox, event_id)
    else:
        samples = read_last(conninfo_of(config), outbox, last_count or 1)
    _show(outbox, samples, as_json=as_json)


def _show(outbox: Outbox, samples: list[Sample], *, as_json: bool) -> None:
    explained = [(sample, dry_run(outbox, sample)) for sample in samples]
    if as_json:
        print_json([dry_run_json(outbox, explanation) for _, explanation in explained])
        return
    for sample, explanation in explained:
        click.echo(dry_run_text(outbox, sample, explanation))
