"""`cdc-relay demo`: the product at work on embedded servers. Prints the summary and exits."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import click

from cdc_relay.demo.demo import DemoOptions, Outcome, run_demo
from cdc_relay.demo.display import choose_display
from cdc_relay.demo.view import summary_text

__all__ = ["demo_command"]


@click.command("demo")
@click.option(
    "--events", type=click.IntRange(min=1), metavar="N", help="Stop after N events are delivered and verified."
)
@click.option("--json", "as_json", is_flag=True, help="Show nothing but a summary at the end, as one line of JSON.")
@click.option(
    "--rate", type=click.IntRange(min=1), metavar="R", help="Events per second. [default: 200; with --events no limit]"
)
def demo_command(events: int | None, as_json: bool, rate: int | None) -> None:
    """Watch the relay at work: embedded Postgres, embedded Kafka, and the real relay between them.

    Needs no server and leaves nothing behind. Ctrl-C stops it cleanly. Exits with 1 if any committed event is missing
    or anything else arrived, or if it was stopped before the N events of --events.

    Example: cdc-relay demo --events 1000
    """
    outcome = run_demo(DemoOptions(event_count=events, rate=rate), choose_display(is_quiet=as_json))
    _print(outcome, as_json=as_json)
    sys.exit(outcome.exit_code)


def _print(outcome: Outcome, *, as_json: bool) -> None:
    click.echo(json.dumps(asdict(outcome.summary)) if as_json else summary_text(outcome.summary))
    if outcome.problem:
        click.echo(f"cdc-relay: {outcome.problem}", err=True)
