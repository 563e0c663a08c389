"""No command takes a secret as an option: everybody on a machine can read command lines."""

from __future__ import annotations

from collections.abc import Iterator

import click

from cdc_relay.cli import cli
from cdc_relay.config.secrets import is_secret


def commands(group: click.Group, path: str = "cdc-relay") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


def test_no_option_is_named_for_a_secret() -> None:
    options = [f"{path} {name}" for path, command in commands(cli) for each in command.params for name in each.opts]
    assert len(options) > 50
    assert [each for each in options if is_secret(each) or "dsn" in each.lower() or "user" in each.lower()] == []
