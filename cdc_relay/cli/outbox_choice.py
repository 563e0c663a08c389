"""Which outbox of the file a command is about. Compares names; knows nothing of rows."""

from __future__ import annotations

import click

from cdc_relay.routing.outbox import Outbox

__all__ = ["choose_outbox"]


def choose_outbox(outboxes: tuple[Outbox, ...], name: str | None) -> Outbox:
    """By its table, with or without the schema, or its prefix; without a name the only one there is."""
    found = [outbox for outbox in outboxes if name is None or name in _names(outbox)]
    exact = [outbox for outbox in found if outbox.label == name]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if name is None:
        raise click.UsageError(f"the file has several outboxes; give --outbox: one of {_shown(outboxes)}")
    if found:
        labels = ", ".join(f"'{outbox.label}'" for outbox in found)
        raise click.UsageError(f"several outboxes are called {name}; give --outbox: one of {labels}")
    raise click.UsageError(f"the file has no outbox {name}; give --outbox: one of {_shown(outboxes)}")


def _names(outbox: Outbox) -> tuple[str, ...]:
    return (outbox.label, outbox.name) if outbox.message_prefix is None else (outbox.label, outbox.message_prefix)


def _shown(outboxes: tuple[Outbox, ...]) -> str:
    return ", ".join(outbox.label if outbox.message_prefix is None else outbox.message_prefix for outbox in outboxes)
