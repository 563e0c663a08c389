"""The `cdc-relay` command: one file per command group. Prints and exits; no logic."""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from types import TracebackType

import click

from cdc_relay import __version__
from cdc_relay.errors import RelayError
from cdc_relay.logs import DEFECT, describe, flush_logs, redact
from cdc_relay.native import is_native

__all__ = ["cli", "main"]

_COMMANDS = {
    "run": ("cdc_relay.cli.run", "run_command"),
    "setup": ("cdc_relay.cli.setup", "setup_command"),
    "check": ("cdc_relay.cli.check", "check_command"),
    "status": ("cdc_relay.cli.status", "status_command"),
    "teardown": ("cdc_relay.cli.teardown", "teardown_command"),
    "route": ("cdc_relay.cli.route", "route_command"),
    "replay": ("cdc_relay.cli.replay", "replay_command"),
    "retention": ("cdc_relay.cli.retention", "retention_command"),
    "topics": ("cdc_relay.cli.topics", "topics_group"),
    "dlq": ("cdc_relay.cli.dlq", "dlq_group"),
    "config": ("cdc_relay.cli.config", "config_group"),
    "demo": ("cdc_relay.cli.demo", "demo_command"),
}


class _LazyGroup(click.Group):
    """Imports a command when it is called: `run` must not pay for the demo's libraries."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name]
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(
    __version__,
    prog_name="cdc-relay",
    message=f"%(prog)s, version %(version)s ({'compiled' if is_native else 'pure Python'})",
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Publish a Postgres outbox table to Kafka through a replication slot, losing nothing.

    Exit codes: 0 ok, 2 usage or configuration file, 3 an operator has to act, 1 anything else.
    """
    if ctx.invoked_subcommand != "run":  # which goes on importing, and enables it by itself
        gc.enable()


def main() -> None:
    sys.excepthook = _print_crash  # commands that log have a better one
    try:
        cli.main(standalone_mode=True)
    except RelayError as exc:
        flush_logs()  # the reason of the end comes last
        click.echo(redact(f"cdc-relay: {exc}"), err=True)
        sys.exit(exc.exit_code)


def _print_crash(kind: type[BaseException], exc: BaseException, trace: TracebackType | None) -> None:
    """No traceback, and no text that may quote a row."""
    said = describe(exc)
    reason = f": {said['reason']}" if "reason" in said else ""
    click.echo(redact(f"cdc-relay: {said['error']}{reason}, at {said['at']}\n  what to do: {DEFECT}"), err=True)
