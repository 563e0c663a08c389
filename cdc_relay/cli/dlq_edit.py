"""`cdc-relay dlq edit`: a record in an editor, or out of a file. Opens the editor, asks, prints and exits."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import IO

import click

from cdc_relay.cli.dlq_output import open_desk
from cdc_relay.cli.options import config_option
from cdc_relay.cli.output import has_terminal
from cdc_relay.cli.param_types import TEXT
from cdc_relay.errors import ConfigError, RelayError
from cdc_relay.parking.desk_changes import edit, insist
from cdc_relay.parking.desk_document import read_document, write_document
from cdc_relay.parking.desk_queries import find, read
from cdc_relay.parking.desk_row import Content, ParkedRow
from cdc_relay.parking.desk_rules import Deed

__all__ = ["edit_command"]


@click.command("edit")
@config_option
@click.argument("name", metavar="ID", type=TEXT)
@click.option("--print", "print_only", is_flag=True, help="Show the document and change nothing.")
@click.option(
    "--file",
    "source",
    type=click.File("rb"),
    metavar="FILE",
    help="Take the edited document from a file (- is stdin) instead of an editor.",
)
@click.option("--retry", is_flag=True, help="Retry it in the same transaction.")
@click.option("--force", is_flag=True, help="Also if a payload that was JSON is JSON no more.")
def edit_command(
    config_path: Path, name: str, print_only: bool, source: IO[bytes] | None, retry: bool, force: bool
) -> None:
    """Change a record's topic, key, headers or payload, in $VISUAL or $EDITOR.

    ID is its number in the lot, or the event id where only one record has it. What was there before is kept with the
    record, with the time and the database role. The status stays as it is: retry it then, or say --retry. Exits with
    2 if the document makes no sense, with 3 if the record must not be changed now; nothing is changed then.

    Example: cdc-relay dlq edit -c relay.yaml 42 --retry
    """
    with open_desk(config_path) as desk:
        row = read(desk, find(desk, name))
    if print_only:
        click.echo(write_document(row), nl=False)
        return
    insist(Deed.EDIT, row)
    if source is not None:
        _save(config_path, row, read_document(_decode(source.read()), row, force=force), retry=retry)
    else:
        _edit_by_hand(config_path, row, retry=retry, force=force)


def _edit_by_hand(config_path: Path, row: ParkedRow, *, retry: bool, force: bool) -> None:
    """No connection is open meanwhile: an editor may be open for hours. The text outlives every failure."""
    text = before = write_document(row)
    while True:
        text = _open_editor(text)
        try:
            content = row.content if text == before else read_document(text, row, force=force)
            return _save(config_path, row, content, retry=retry)
        except ConfigError as exc:
            click.echo(f"cdc-relay: {exc}", err=True)
            if not (has_terminal() and click.confirm("edit it again?", default=True, err=True)):
                raise ConfigError("nothing was changed", remedy=_keep(row, text)) from exc
        except RelayError:
            click.echo(f"cdc-relay: {_keep(row, text)}", err=True)
            raise


def _open_editor(text: str) -> str:
    try:
        return click.edit(text, extension=".txt", require_save=False) or ""
    except UnicodeDecodeError:
        raise ConfigError("the editor left a file that is not UTF-8", remedy="let it write UTF-8") from None


def _save(config_path: Path, row: ParkedRow, content: Content, *, retry: bool) -> None:
    if content == row.content and not retry:
        click.echo(f"record {row.id}: nothing changed")
        return
    with open_desk(config_path) as desk:
        edit(desk, row, content, retry=retry)
    click.echo(f"record {row.id}: {'due now' if retry else f'changed; now: cdc-relay dlq retry {row.id}'}")


def _keep(row: ParkedRow, text: str) -> str:
    """Readable by nobody else: it has the payload."""
    handle, path = tempfile.mkstemp(prefix=f"cdc-relay-record-{row.id}-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8") as kept:
        kept.write(text)
    return f"the edited text is kept: cdc-relay dlq edit {row.id} --file {path}"


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError("the document is not UTF-8", remedy="cdc-relay dlq edit ID --print shows one") from None
