"""The `cdc-relay` command: one file per command group. Prints and exits; no logic."""

from __future__ import annotations

import sys

import click

from cdc_relay import __version__
from cdc_relay.cli.config import config_group
from cdc_relay.cli.demo import demo_command
from cdc_relay.cli.run import run_command
from cdc_relay.cli.setup import setup_command
from cdc_relay.errors import RelayError

__all__ = ["cli", "main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="cdc-relay")
def cli() -> None:
    """Publish a Postgres outbox table to Kafka through a replication slot, losing nothing.

    Exit codes: 0 ok, 2 usage or configuration file, 3 an operator has to act, 1 anything else.
    """


for _command in (run_command, setup_command, config_group, demo_command):
    cli.add_command(_command)


def main() -> None:
    try:
        cli.main(standalone_mode=True)
    except RelayError as exc:
        click.echo(f"cdc-relay: {exc}", err=True)
        sys.exit(exc.exit_code)
