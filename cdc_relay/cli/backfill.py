"""The part of `cdc-relay setup --backfill` that publishes. Prints and exits; the backfill itself is elsewhere."""

from __future__ import annotations

import sys

import click

from cdc_relay.backfill import backfill
from cdc_relay.cli.replay_progress import ProgressView
from cdc_relay.cli.run import stop_on_signals
from cdc_relay.config import RelayConfig
from cdc_relay.logs import say_always, start_logs

__all__ = ["run_backfill"]


def run_backfill(config: RelayConfig, *, rate: int | None) -> None:
    start_logs()
    say_always(service=config.service_name, slot=config.source.slot)
    with ProgressView("backfill") as view:
        result = backfill(config, rate=rate, stop=stop_on_signals(), say=click.echo, show=view.show)
    counts = result.counts
    figures = f"{counts.published:,} published, {counts.parked:,} parked, {counts.dropped:,} dropped by a route"
    if result.is_finished:
        click.echo(f"backfill {result.run}: finished; {counts.read:,} rows, {figures}")
        click.echo("start the relay now: cdc-relay run -c FILE")
        return
    click.echo(f"backfill {result.run}: stopped; {figures}", err=True)
    click.echo("it begins again with: cdc-relay setup -c FILE --backfill; until then run refuses", err=True)
    sys.exit(1)
