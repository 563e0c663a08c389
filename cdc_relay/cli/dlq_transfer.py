"""`cdc-relay dlq export` and `import`: records as JSON lines. Read, ask, print and exit."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import click

from cdc_relay.cli.dlq_options import filter_options, given_filters, yes_option
from cdc_relay.cli.dlq_output import open_desk
from cdc_relay.cli.options import config_option
from cdc_relay.cli.output import ask
from cdc_relay.errors import ConfigError
from cdc_relay.parking.desk_import import take_in
from cdc_relay.parking.desk_lines import from_line, to_line
from cdc_relay.parking.desk_queries import export

__all__ = ["export_command", "import_command"]


@click.command("export")
@config_option
@filter_options
def export_command(config_path: Path) -> None:
    """Write records to stdout as JSON lines, oldest first, with payload, headers and history; nothing is lost in it.

    Without --status those that are not done with; --status all for every record. Bytes that are not text are written
    as {"base64": ...}.

    Example: cdc-relay dlq export -c relay.yaml > parked.jsonl
    """
    filters = given_filters()
    with open_desk(config_path) as desk:
        for row in export(desk, filters.for_slot(desk.slot)):
            click.echo(to_line(row))


@click.command("import")
@config_option
@click.argument("source", metavar="FILE", type=click.File("rb"))
@click.option("--retry", is_flag=True, help="They are due now, with fresh tries, instead of dead.")
@yes_option
def import_command(config_path: Path, source: IO[bytes], retry: bool, yes: bool) -> None:
    """Take exported records into the lot of this slot, as dead and under new numbers. FILE may be - for stdin.

    A record that the lot has already (the same outbox, commit position, place in the transaction and commit time) is
    skipped and counted. All of them come in, or none.

    Example: cdc-relay dlq import -c relay.yaml parked.jsonl --retry
    """
    with _seekable(source) as lines:
        count = sum(1 for _ in _rows(lines))  # every line is checked before anybody is asked
        lines.seek(0)
        with open_desk(config_path) as desk:
            if count > 1:
                ask(f"import {count:,} records into the lot of slot {desk.slot}?", yes=yes)
            taken, skipped = take_in(desk, _rows(lines), retry=retry)
    click.echo(f"{taken:,} imported as {'retrying, due now' if retry else 'dead'}, {skipped:,} already there")


def _seekable(source: IO[bytes]) -> IO[bytes]:
    if source.seekable():
        return source
    spool = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    shutil.copyfileobj(source, spool)
    spool.seek(0)
    return spool


def _rows(lines: IO[bytes]) -> Iterator[tuple[int, dict[str, object]]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, _row(line, number)


def _row(line: bytes, number: int) -> dict[str, object]:
    try:
        return from_line(line.decode())
    except ValueError as exc:
        problem = "it is not UTF-8" if isinstance(exc, UnicodeError) else exc
        raise ConfigError(
            f"line {number}: {problem}; nothing was imported", remedy="import what export wrote"
        ) from None
