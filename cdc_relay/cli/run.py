"""`cdc-relay run`: the connector. Signals and exit codes are here; the relay itself is in wiring and relay."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import FrameType

import click
import structlog

from cdc_relay.cli.options import config_option
from cdc_relay.config import find_warnings, load
from cdc_relay.logs import say_always, start_logs
from cdc_relay.stop import Stop

__all__ = ["run_command", "stop_on_signals"]


@click.command("run")
@config_option
@click.option(
    "--no-wait", is_flag=True, help="Exit with 3 instead of waiting when Postgres, Kafka or the slot is away."
)
@click.option(
    "--accept-gap", is_flag=True, help="Go on although events may be missing from the slot, and write that down."
)
@click.option(
    "--log-format", type=click.Choice(["console", "json"]), default=None, help="Default: console on a terminal."
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="The least that is said on stderr.",
)
def run_command(config_path: Path, no_wait: bool, accept_gap: bool, log_format: str | None, log_level: str) -> None:
    """Read the slot and publish to Kafka until told to stop.

    SIGTERM or Ctrl-C drains and exits with 0 (1 if delivery.drain was too short); a second one exits at once with 1.
    Nothing is lost either way.

    Example: cdc-relay run -c relay.yaml --log-level warning
    """
    start_logs(log_level, log_format)
    loaded = load(config_path)
    say_always(service=loaded.service_name, slot=loaded.source.slot)
    for text in find_warnings(loaded):
        structlog.get_logger().warning("configuration", text=text)
    from cdc_relay.wiring import run_relay  # after the cheap checks: psycopg and confluent_kafka take 0.4 s to import

    run_relay(loaded, stop=stop_on_signals(), wait=not no_wait, accept_gap=accept_gap)


def stop_on_signals() -> Stop:
    stop = Stop()
    signals: list[int] = []  # the relay may have its own reasons to stop: only a second signal is impatience

    def handle(number: int, frame: FrameType | None) -> None:
        if signals:
            os._exit(1)
        signals.append(number)
        stop.request()

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)
    return stop
