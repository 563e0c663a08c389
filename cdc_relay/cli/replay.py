"""`cdc-relay replay`: rows of the table again. Options, questions and exit codes; the run itself is in republish."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO

import click

from cdc_relay.cli.options import config_option
from cdc_relay.cli.outbox_choice import choose_outbox
from cdc_relay.cli.output import ask, warn
from cdc_relay.cli.param_types import TEXT, Parsed
from cdc_relay.cli.run import stop_on_signals
from cdc_relay.config import RelayConfig, find_warnings, load
from cdc_relay.logs import say_always, start_logs
from cdc_relay.parking.desk_filter import parse_since
from cdc_relay.replay.selection import Selection, parse_ids, resolve
from cdc_relay.routing.outbox import Outbox
from cdc_relay.target import wanted_of

__all__ = ["replay_command"]

_TIME = Parsed("TIME", parse_since)
_REORDERS = (
    "Consumers get these rows again, marked by the header cdc-relay-replay, and not in order with what a running relay"
    " publishes meanwhile."
)


@click.command("replay")
@config_option
@click.option("--outbox", "name", metavar="NAME", type=TEXT, help="Only this one of several: its table.")
@click.option("--since", type=_TIME, help="Rows from then on: 2026-01-31T08:00 (UTC), or how long ago: 2h.")
@click.option("--until", type=_TIME, help="Rows before then.")
@click.option("--ids", "ids_file", metavar="FILE", type=click.File("r"), help="Event ids, one per line; - is stdin.")
@click.option("--where", metavar="SQL", type=TEXT, help="Rows for which this condition of your own holds.")
@click.option("--rate", metavar="N", type=click.IntRange(1), help="At most N rows a second.")
@click.option("--dry-run", is_flag=True, help="Show what would become of the rows; publish nothing.")
@click.option("--resume", is_flag=True, help="Go on with the newest run that was not finished and nobody works on.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON on stdout, for programs.")
def replay_command(
    config_path: Path,
    name: str | None,
    since: datetime | timedelta | None,
    until: datetime | timedelta | None,
    ids_file: IO[str] | None,
    where: str | None,
    rate: int | None,
    dry_run: bool,
    resume: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Publish rows that are in the outbox table again: same routes, same failure rules, one more header.

    All rows, or those for which everything given holds. It reads the table, never the slot: a running relay is not
    disturbed. The record's header cdc-relay-replay has the name of the run. Rows that cannot be published are parked,
    and the running relay tries them again. The role of source.dsn needs SELECT on the table (docs/replay.md).

    Exits with 0 when all rows are published, parked or dropped by a route; with 1 when it was stopped before: --resume
    goes on where it was.

    \b
      cdc-relay replay -c relay.yaml --since 2h --dry-run
      cdc-relay replay -c relay.yaml --since 2026-01-31T08:00 --until 2026-01-31T09:30
      cdc-relay replay -c relay.yaml --ids lost.txt --rate 500 --yes
      cdc-relay replay -c relay.yaml --where "aggregateid = '42'"
    """
    if resume:
        _require_alone(dry_run, name, since, until, ids_file, where)
    start_logs()
    config = load(config_path)
    say_always(service=config.service_name, slot=config.source.slot)
    warn(find_warnings(config))
    outboxes = _choose(config, name)
    ids = None if ids_file is None else parse_ids(ids_file)
    selection = Selection(tuple(outbox.label for outbox in outboxes), resolve(since), resolve(until), where, ids)
    if dry_run:
        _preview(config, outboxes, selection, as_json=as_json)
    else:
        _replay(config, None if resume else selection, rate=rate, yes=yes, as_json=as_json)


def _require_alone(dry_run: bool, *selection: object) -> None:
    if any(given is not None for given in selection):
        raise click.UsageError("--resume goes on with what the run was asked for: give no selection beside it")
    if dry_run:
        raise click.UsageError("--resume publishes: leave out --dry-run")


def _preview(config: RelayConfig, outboxes: list[Outbox], selection: Selection, *, as_json: bool) -> None:
    from cdc_relay.cli.replay_runs import preview  # after the cheap checks: 0.4 s of imports

    preview(config, outboxes, selection, as_json=as_json)


def _replay(config: RelayConfig, selection: Selection | None, *, rate: int | None, yes: bool, as_json: bool) -> None:
    from cdc_relay.cli.replay_runs import replay  # as above

    finished = replay(
        config,
        selection,
        confirm=lambda text: ask(f"{text} {_REORDERS} Go on?", yes=yes),
        rate=rate,
        make_stop=stop_on_signals,
        as_json=as_json,
    )
    sys.exit(0 if finished else 1)


def _choose(config: RelayConfig, name: str | None) -> list[Outbox]:
    outboxes = wanted_of(config).outboxes
    if name is not None:
        outboxes = (choose_outbox(outboxes, name),)
    tables = [outbox for outbox in outboxes if outbox.message_prefix is None]
    for outbox in outboxes:
        if outbox.message_prefix is not None:
            warn([f"{outbox.label}: messages are in the WAL only, not in a table; they cannot be replayed"])
    if not tables:
        raise click.UsageError("there is no table to replay: messages are in the WAL only")
    return tables
