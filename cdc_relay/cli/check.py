"""`cdc-relay check`: what is wrong or will be, in Postgres and in Kafka, each with its fix. Prints and exits."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from cdc_relay.cli.options import config_option
from cdc_relay.cli.output import print_json
from cdc_relay.config import load
from cdc_relay.errors import RefusedError

__all__ = ["check_command"]


@click.command("check")
@config_option
@click.option("--json", "as_json", is_flag=True, help="The findings as JSON on stdout, for programs.")
def check_command(config_path: Path, as_json: bool) -> None:
    """Look at Postgres, Kafka and the file, and say what is wrong or will be, each with its fix. Changes nothing.

    One line per finding: ok, warn or fail, its name (docs/check.md has all of them), and what was found; below a warn
    or fail what is at stake, and the SQL, command or YAML line that repairs it. If Postgres is away Kafka is looked at
    all the same. `run` does the same when it starts, and logs what it finds.

    Exits with 0 when nothing failed, and with 3 when something did.

    Example: cdc-relay check -c relay.yaml --json | jq '.findings[] | select(.level == "fail")'
    """
    config = load(config_path)
    from cdc_relay.admin.check.check import check_all  # after the cheap checks: confluent_kafka is slow to import
    from cdc_relay.admin.check.finding import Level
    from cdc_relay.admin.check.text import document, lines

    findings, shown_path = check_all(config), shlex.quote(str(config_path))
    if as_json:
        print_json(document(findings, config=shown_path))
    else:
        click.echo("\n".join(lines(findings, config=shown_path)))
    if any(finding.level is Level.FAIL for finding in findings):
        sys.exit(RefusedError.exit_code)
