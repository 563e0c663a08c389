"""What the dlq commands have in common: the desk of the file's slot, and tables on the terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cdc_relay.config import load
from cdc_relay.parking.desk import Desk
from cdc_relay.parking.desk_views import Sheet
from cdc_relay.target import parking_conninfo_of

__all__ = ["open_desk", "print_sheet"]


def open_desk(config_path: Path) -> Desk:
    config = load(config_path)
    return Desk(parking_conninfo_of(config), config.source.slot)


def print_sheet(sheet: Sheet) -> None:
    console = Console(file=sys.stdout, highlight=False)
    if console.is_terminal and not console.is_dumb_terminal:
        console.print(_table(sheet))
    else:
        click.echo("\n".join(_plain(sheet)))


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
