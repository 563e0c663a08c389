"""`cdc-relay dlq`: the group. Its commands are in the files beside it, by what they do."""

from __future__ import annotations

import click

from cdc_relay.cli.dlq_change import cancel_command, discard_command, retry_command
from cdc_relay.cli.dlq_edit import edit_command
from cdc_relay.cli.dlq_look import list_command, show_command, stats_command
from cdc_relay.cli.dlq_transfer import export_command, import_command

__all__ = ["dlq_group"]

_COMMANDS = (  # in the order in which they are needed
    list_command,
    show_command,
    retry_command,
    edit_command,
    discard_command,
    cancel_command,
    stats_command,
    export_command,
    import_command,
)


class _InOrder(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group("dlq", cls=_InOrder)
def dlq_group() -> None:
    """See and repair what could not be published: the records in the lot (docs/parking.md).

    All commands are about the slot of the configuration file. Every change of more than one record asks first, or
    takes --yes; without a terminal to ask on it is refused with 2. Payloads are shown by show, edit and export only.
    """


for _command in _COMMANDS:
    dlq_group.add_command(_command)
