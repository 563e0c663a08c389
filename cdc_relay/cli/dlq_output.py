"""How the dlq commands speak: tables, JSON, questions. Owns the terminal; decides nothing about records."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cdc_relay.config import load
from cdc_relay.errors import ConfigError
from cdc_relay.parking.desk import Desk
from cdc_relay.parking.desk_views import Sheet
from cdc_relay.target import parking_conninfo_of

__all__ = ["ask", "has_terminal", "open_desk", "print_json", "print_sheet"]


def open_desk(config_path: Path) -> Desk:
    config = load(config_path)
    return Desk(parking_conninfo_of(config), config.source.slot)


def print_json(value: object) -> None:
    """ASCII only: nothing in it can move a cursor."""
    click.echo(json.dumps(value, indent=2))


def print_sheet(sheet: Sheet) -> None:
    console = Console(file=sys.stdout, highlight=False)
    if console.is_terminal and not console.is_dumb_terminal:
        console.print(_table(sheet))
    else:
        click.echo("\n".join(_plain(sheet)))


def has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str, *, yes: bool) -> None:
    """Goes on, or ends the command: with 1 after a no, with 2 where nobody can be asked."""
    if yes:
        return
    if not has_terminal():
        raise ConfigError(f"{question} There is no terminal to ask on", remedy="say --yes if that is meant")
    click.confirm(question, abort=True, err=True)


def _table(sheet: Sheet) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in sheet.titles:
        table.add_column(title, no_wrap=title in ("id", "status", "tries", "age"), overflow="fold")
    for row in sheet.rows:
        table.add_row(*(Text(cell) for cell in row))  # a Text is never read as markup
    return table


def _plain(sheet: Sheet) -> list[str]:
    lines = [[title.upper() for title in sheet.titles], *sheet.rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(sheet.titles))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
