"""`cdc-relay teardown`: takes down what `setup` made, after showing what is lost with it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import click

from cdc_relay.admin.teardown import Teardown
from cdc_relay.admin.teardown_text import describe
from cdc_relay.cli.options import config_option
from cdc_relay.cli.output import ask, print_json
from cdc_relay.config import load
from cdc_relay.target import conninfo_of, parking_conninfo_of, wanted_of

__all__ = ["teardown_command"]


@click.command("teardown")
@config_option
@click.option("--lot", "with_lot", is_flag=True, help="Take down the parked records of this slot too.")
@click.option("--dry-run", is_flag=True, help="Show what would go and what would be lost, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal to ask on.")
@click.option("--json", "as_json", is_flag=True, help="Print what was there and what was done as JSON.")
def teardown_command(config_path: Path, with_lot: bool, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Drop slot and publication, and with --lot the parked records, after showing what is lost.

    Never touches the outbox tables. Stop the relay first: while one runs, teardown refuses. With --lot the schema
    cdc_relay goes as well where no other slot has anything in it. Runs as the role of source.dsn (docs/teardown.md);
    it can be repeated.

    Example: cdc-relay teardown -c relay.yaml --dry-run
    """
    config = load(config_path)
    wanted = wanted_of(config)
    parking_conninfo = None if config.parking.dsn is None else parking_conninfo_of(config)
    with closing(Teardown(conninfo_of(config), wanted, parking_conninfo=parking_conninfo)) as teardown:
        facts = teardown.look()
        lines = list(describe(facts, wanted, with_lot=with_lot))
        if not as_json:
            click.echo("\n".join(lines))
        done: list[str] = []
        if not dry_run:
            ask(f"take down slot {wanted.slot} and what belongs to it, as shown?", yes=yes)
            done = teardown.carry_out(facts, with_lot=with_lot)
        if as_json:
            print_json({"found": asdict(facts), "text": lines, "done": done})
        elif not dry_run:
            click.echo("\n".join(done) or "nothing to do")
