"""`cdc-relay dlq list`, `show` and `stats`: what is in the lot. Print and exit."""

from __future__ import annotations

from pathlib import Path

import click

from cdc_relay.cli.dlq_options import all_slots_option, filter_options, given_filters, json_option
from cdc_relay.cli.dlq_output import open_desk, print_sheet
from cdc_relay.cli.options import config_option
from cdc_relay.cli.output import print_json
from cdc_relay.cli.param_types import TEXT
from cdc_relay.parking.desk import Desk
from cdc_relay.parking.desk_filter import Filter
from cdc_relay.parking.desk_lines import row_json
from cdc_relay.parking.desk_queries import count, figures, find, list_rows, read
from cdc_relay.parking.desk_views import figures_json, figures_sheet, list_sheet, record_text, totals_text

__all__ = ["list_command", "show_command", "stats_command"]


@click.command("list")
@config_option
@filter_options
@all_slots_option
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", default=50, show_default=True, help="At most so many."
)
@json_option
def list_command(config_path: Path, all_slots: bool, limit: int, as_json: bool) -> None:
    """List parked records, newest first, without their payloads.

    Without --status those that are not done with: retrying, behind, scheduled and dead. All filters must hold.

    Example: cdc-relay dlq list -c relay.yaml --status dead --since 2h
    """
    filters = given_filters()
    with open_desk(config_path) as desk:
        wanted = filters.for_slot(None if all_slots else desk.slot)
        rows = list_rows(desk, wanted, limit=limit)
        if as_json:
            print_json([row_json(row) for row in rows])
        elif rows:
            print_sheet(list_sheet(rows, with_slot=all_slots))
            _say_the_rest(desk, wanted, len(rows))
        else:
            click.echo(_nothing(desk, wanted))


@click.command("show")
@config_option
@click.argument("name", metavar="ID", type=TEXT)
@click.option("--full", is_flag=True, help="The whole payload, however long its text is.")
@json_option
def show_command(config_path: Path, name: str, full: bool, as_json: bool) -> None:
    """Show everything about one record: position, error with its remedy, headers, payload, edits.

    ID is its number in the lot, or the event id where only one record has it.

    Example: cdc-relay dlq show -c relay.yaml 42
    """
    with open_desk(config_path) as desk:
        row = read(desk, find(desk, name))
    if as_json:
        print_json(row_json(row))
    else:
        click.echo(record_text(row, full=full))


@click.command("stats")
@config_option
@all_slots_option
@json_option
def stats_command(config_path: Path, all_slots: bool, as_json: bool) -> None:
    """Count the records by status, topic and error class, with the age of the oldest.

    Example: cdc-relay dlq stats -c relay.yaml
    """
    with open_desk(config_path) as desk:
        found = figures(desk, all_slots=all_slots)
    if as_json:
        print_json(figures_json(found))
    elif found:
        print_sheet(figures_sheet(found, with_slot=all_slots))
        click.echo(totals_text(found))
    else:
        click.echo("the lot is empty" if all_slots else f"the lot of slot {desk.slot} is empty")


def _say_the_rest(desk: Desk, wanted: Filter, shown: int) -> None:
    total = sum(count(desk, wanted).values())
    if total > shown:
        click.echo(f"{shown:,} of {total:,} records; --limit N shows more", err=True)


def _nothing(desk: Desk, wanted: Filter) -> str:
    others = count(desk, Filter(slot=wanted.slot))
    where = f"the lot of slot {desk.slot}" if wanted.slot else "the lot"
    if not others:
        return f"{where} is empty"
    there = ", ".join(f"{number:,} {status}" for status, number in others.items())
    return f"no such record in {where}; it has {there} (--status all)"
