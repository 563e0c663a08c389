"""`cdc-relay dlq retry`, `discard` and `cancel`: what an operator decides about records. Ask, print and exit."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from cdc_relay.cli.dlq_options import Filters, all_option, filter_options, given_filters, yes_option
from cdc_relay.cli.dlq_output import open_desk
from cdc_relay.cli.options import config_option
from cdc_relay.cli.output import ask
from cdc_relay.cli.param_types import TEXT
from cdc_relay.errors import RefusedError
from cdc_relay.parking.desk import Desk
from cdc_relay.parking.desk_changes import Done, carry_out
from cdc_relay.parking.desk_queries import find, list_ids
from cdc_relay.parking.desk_rules import TAKEN_BY_ALL, Deed, Refusal, within_reach

__all__ = ["cancel_command", "discard_command", "retry_command"]

_OUTCOMES = {Deed.RETRY: "due now", Deed.DISCARD: "discarded", Deed.CANCEL: "cancelled"}
_EACH_LIMIT = 20  # more are only counted


@click.command("retry")
@config_option
@click.argument("names", metavar="[ID]...", nargs=-1, type=TEXT)
@all_option
@filter_options
@yes_option
def retry_command(config_path: Path, names: tuple[str, ...], take_all: bool, yes: bool) -> None:
    """Publish dead or retrying records now, with fresh tries. A running relay takes them within a second.

    ID is a record's number in the lot, or the event id where only one record has it. --all takes every dead record,
    and every one that waits for its next try; filters narrow that down. Exits with 3 if a record was refused; the
    others are done.

    Example: cdc-relay dlq retry -c relay.yaml --all --topic orders.events.v1
    """
    _change(config_path, Deed.RETRY, names, take_all=take_all, yes=yes)


@click.command("discard")
@config_option
@click.argument("names", metavar="[ID]...", nargs=-1, type=TEXT)
@click.option("--reason", required=True, type=TEXT, metavar="TEXT", help="Why; kept with the record.")
@all_option
@filter_options
@yes_option
def discard_command(config_path: Path, names: tuple[str, ...], reason: str, take_all: bool, yes: bool) -> None:
    """Give records up for good: they stay in the table, and are never published.

    --all takes every dead record; filters narrow that down, or widen it with --status. Exits with 3 if a record was
    refused; the others are done.

    Example: cdc-relay dlq discard -c relay.yaml 42 --reason "sent by hand"
    """
    if not reason.strip():
        raise click.BadParameter("say why", param_hint="--reason")
    _change(config_path, Deed.DISCARD, names, take_all=take_all, yes=yes, reason=reason)


@click.command("cancel")
@config_option
@click.argument("names", metavar="ID...", nargs=-1, type=TEXT, required=True)
@yes_option
def cancel_command(config_path: Path, names: tuple[str, ...], yes: bool) -> None:
    """Cancel scheduled records: they are never published. Exits with 3 if a record was refused; the others are done.

    Example: cdc-relay dlq cancel -c relay.yaml 42
    """
    with open_desk(config_path) as desk:
        _carry_out(desk, Deed.CANCEL, *_find_all(desk, names), is_bulk=len(names) > 1, yes=yes)


def _change(
    config_path: Path, deed: Deed, names: tuple[str, ...], *, take_all: bool, yes: bool, reason: str | None = None
) -> None:
    filters = given_filters()
    _check_usage(names, filters, take_all=take_all)
    with open_desk(config_path) as desk:
        ids, unknown = _find_all(desk, names)
        if take_all:
            ids = list_ids(desk, within_reach(deed, filters.for_slot(desk.slot, default=TAKEN_BY_ALL[deed])))
        _carry_out(desk, deed, ids, unknown, is_bulk=take_all or len(ids) > 1, yes=yes, reason=reason)


def _check_usage(names: tuple[str, ...], filters: Filters, *, take_all: bool) -> None:
    if take_all and names:
        raise click.UsageError("give IDs or --all, not both")
    if not take_all and not names:
        raise click.UsageError("give the IDs of records, or --all (with filters)")
    if names and filters:
        raise click.UsageError("filters go with --all, not with IDs")


def _find_all(desk: Desk, names: tuple[str, ...]) -> tuple[list[int], list[RefusedError]]:
    """The numbers of those that are there, and what is to be said of the others."""
    ids: dict[int, None] = {}
    unknown = []
    for name in names:
        try:
            ids[find(desk, name)] = None
        except RefusedError as exc:
            unknown.append(exc)
    return list(ids), unknown


def _carry_out(
    desk: Desk,
    deed: Deed,
    ids: list[int],
    unknown: list[RefusedError],
    *,
    is_bulk: bool,
    yes: bool,
    reason: str | None = None,
) -> None:
    if not (ids or unknown):
        click.echo(f"no such record in the lot of slot {desk.slot}")
        return
    if is_bulk and ids:
        ask(f"{deed} {len(ids):,} record{'s'[: len(ids) > 1]} of slot {desk.slot}?", yes=yes)
    done = carry_out(desk, deed, ids, reason=reason)
    _print(deed, done)
    refused: list[RefusedError | Refusal] = [*unknown, *done.refused]
    if refused:
        _complain(refused)
        sys.exit(RefusedError.exit_code)


def _complain(refused: Sequence[RefusedError | Refusal]) -> None:
    for refusal in refused[:_EACH_LIMIT]:
        click.echo(f"cdc-relay: {refusal}", err=True)
    if len(refused) > _EACH_LIMIT:
        click.echo(f"cdc-relay: … and {len(refused) - _EACH_LIMIT:,} records more were refused", err=True)


def _print(deed: Deed, done: Done) -> None:
    if len(done.done) > _EACH_LIMIT:
        click.echo(f"{len(done.done):,} records: {_OUTCOMES[deed]}")
    else:
        for record_id in done.done:
            click.echo(f"record {record_id}: {_OUTCOMES[deed]}")
