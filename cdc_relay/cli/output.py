"""How any command speaks: JSON, warnings, questions. Owns the terminal; decides nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

import click

from cdc_relay.errors import ConfigError

__all__ = ["ask", "has_terminal", "print_json", "warn"]


def print_json(value: object) -> None:
    """ASCII only: nothing in it can move a cursor."""
    click.echo(json.dumps(value, indent=2))


def warn(texts: Iterable[str]) -> None:
    for text in texts:
        click.echo(f"warning: {text}", err=True)


def has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str, *, yes: bool) -> None:
    """Goes on, or ends the command: with 1 after a no, with 2 where nobody can be asked."""
    if yes:
        return
    if not has_terminal():
        raise ConfigError(f"{question} There is no terminal to ask on", remedy="say --yes if that is meant")
    click.confirm(question, abort=True, err=True)
