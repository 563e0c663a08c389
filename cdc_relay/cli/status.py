"""`cdc-relay status`: one look, or one per interval. Prints and exits; what it says is made in admin/status."""

from __future__ import annotations

import json
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.live import Live

from cdc_relay.admin.status.document import report_document
from cdc_relay.admin.status.lookout import Lookout
from cdc_relay.admin.status.place import Place
from cdc_relay.admin.status.relay_reader import url_of
from cdc_relay.admin.status.report import Report
from cdc_relay.admin.status.text import log_line, report_text
from cdc_relay.admin.status.view import History, screen
from cdc_relay.cli.options import config_option
from cdc_relay.cli.output import print_json
from cdc_relay.config import RelayConfig, load
from cdc_relay.errors import AwayError
from cdc_relay.target import conninfo_of, parking_conninfo_of

__all__ = ["status_command"]

Show = Callable[[Report], None]


@click.command("status")
@config_option
@click.option("--watch", is_flag=True, help="Look again and again; Ctrl-C ends it with 0.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text; with --watch a line per look.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.5, max=3600),
    metavar="S",
    default=1.0,
    show_default=True,
    help="Seconds between two looks of --watch.",
)
@click.option("--url", metavar="URL", help="Where the relay serves HTTP, if not at http.listen on this machine.")
def status_command(config_path: Path, watch: bool, as_json: bool, interval: float, url: str | None) -> None:
    """Show the slot, the relay, what is parked and what went wrong last; the last line says what to do first.

    Works with the relay up or down, and with the rights of `run`; changes nothing (docs/status.md).

    Exits with 0 when it could look, whatever it saw, and with 3 when Postgres could not be asked: what the relay says
    is shown all the same.

    Example: cdc-relay status -c relay.yaml --watch
    """
    with closing(_make_lookout(config_path, url)) as lookout:
        if watch:
            _watch(lookout, interval, as_json=as_json)
            return
        report = lookout.look()
    _print(report, as_json=as_json)
    if report.postgres is None:
        sys.exit(AwayError.exit_code)


def _make_lookout(config_path: Path, url: str | None) -> Lookout:
    config = load(config_path)
    setup = f"cdc-relay setup -c {shlex.quote(str(config_path))}"
    source = Place(conninfo_of(config, use="status"), setting="source.dsn", setup=setup)
    lot = None
    if config.parking.dsn is not None:
        lot = Place(parking_conninfo_of(config, use="status"), setting="parking.dsn", setup=setup)
    place = url.rstrip("/") if url else _listen_url(config)
    return Lookout(file=str(config_path), slot=config.source.slot, url=place, source=source, lot=lot)


def _listen_url(config: RelayConfig) -> str | None:
    address = config.http.address
    return url_of(address) if address is not None and address[1] else None


def _print(report: Report, *, as_json: bool) -> None:
    if as_json:
        print_json(report_document(report))
    else:
        click.echo(report_text(report))


def _watch(lookout: Lookout, interval: float, *, as_json: bool) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the screen must come back then as well
    try:
        with _display(interval, as_json=as_json) as show:
            while True:
                due_at = time.monotonic() + interval
                show(lookout.look())
                time.sleep(max(0.0, due_at - time.monotonic()))
    except KeyboardInterrupt:
        return


@contextmanager
def _display(interval: float, *, as_json: bool) -> Iterator[Show]:
    """A screen on a terminal, else a line per look."""
    console = Console(file=sys.stdout)
    if as_json:
        yield lambda report: click.echo(json.dumps(report_document(report)))
    elif not console.is_terminal or console.is_dumb_terminal:
        yield lambda report: click.echo(log_line(report))
    else:
        history = History()
        with Live(console=console, screen=True, auto_refresh=False) as live:
            yield lambda report: _refresh(live, history, report, interval)


def _refresh(live: Live, history: History, report: Report, interval: float) -> None:
    history.add(report)
    live.update(screen(report, history, interval_seconds=interval), refresh=True)
