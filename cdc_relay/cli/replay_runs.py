"""What `cdc-relay replay` says and does around a run. Prints; the run itself is in republish."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial

import click

from cdc_relay.cli.output import print_json
from cdc_relay.cli.replay_progress import ProgressView
from cdc_relay.config import RelayConfig
from cdc_relay.errors import ConfigError, DrainError, RefusedError
from cdc_relay.replay.journal import Journal, Kept
from cdc_relay.replay.preview import preview_rows
from cdc_relay.replay.reader import PageReader
from cdc_relay.replay.selection import Selection
from cdc_relay.replay.stamp import REPLAY_HEADER
from cdc_relay.replay.table_session import ShortTransactions
from cdc_relay.republish import Republication, Result
from cdc_relay.routing.outbox import Outbox
from cdc_relay.stop import Stop
from cdc_relay.target import conninfo_of, wanted_of

__all__ = ["preview", "replay"]

_KIND = "replay"
_SHOWN_IDS = 20
_GO_ON = "go on with: cdc-relay replay -c FILE --resume"


def preview(config: RelayConfig, outboxes: list[Outbox], selection: Selection, *, as_json: bool) -> None:
    with closing(_make_reader(config, outboxes, selection)) as reader:
        reader.prepare()
        found = preview_rows(reader, outboxes)
    if as_json:
        print_json(found.as_json())
    else:
        click.echo(found.as_text())


def replay(
    config: RelayConfig,
    selection: Selection | None,
    *,
    confirm: Callable[[str], None],
    rate: int | None,
    make_stop: Callable[[], Stop],
    as_json: bool,
) -> bool:
    """Whether all that was asked for is settled. Without a selection: that of the newest unfinished run."""
    with closing(Journal(conninfo_of(config), slot=config.source.slot)) as journal:
        unfinished = journal.find_unfinished(_KIND)
        if selection is None:
            kept, selection = _require(unfinished)
            begin = partial(journal.resume, kept.id)
        else:
            _hint(unfinished)
            begin = partial(journal.begin, _KIND, selection)
        reader = _make_reader(config, _outboxes(config, selection), selection)
        total_blocks = reader.prepare()
        confirm(f"{', '.join(selection.outboxes)}: {selection}.")
        stop = make_stop()  # not before the question: Ctrl-C there is a no
        kept = begin()
        result = _run(config, kept, reader, journal, total_blocks=total_blocks, rate=rate, stop=stop)
    _report(result, as_json=as_json)
    return result.is_finished


def _run(
    config: RelayConfig,
    kept: Kept,
    reader: PageReader,
    journal: Journal,
    *,
    total_blocks: int,
    rate: int | None,
    stop: Stop,
) -> Result:
    with ProgressView(kept.id) as view:
        republication = Republication(
            config,
            kept,
            reader,
            journal,
            headers=[(REPLAY_HEADER, kept.id.encode())],
            total_blocks=total_blocks,
            rate=rate,
            stop=stop,
            show=view.show,
        )
        try:
            return republication.run()
        except (ConfigError, RefusedError) as exc:
            if isinstance(exc, ConfigError) or not (republication.has_begun or kept.attempt > 1):
                journal.abandon(kept)  # there is nothing to go on with
            raise
        except DrainError as exc:
            raise DrainError(exc.message, remedy=f"nothing is lost; {_GO_ON}") from exc


def _report(result: Result, *, as_json: bool) -> None:
    counts = result.counts
    if as_json:
        print_json(
            {
                "run": result.run,
                "finished": result.is_finished,
                "read": counts.read,
                "published": counts.published,
                "parked": counts.parked,
                "dropped": counts.dropped,
                "missing_ids": result.missing_ids,
            }
        )
    else:
        click.echo(
            f"run {result.run}: {'finished' if result.is_finished else 'stopped'}; {counts.read:,} rows read,"
            f" {counts.published:,} published, {counts.parked:,} parked, {counts.dropped:,} dropped by a route"
        )
        if counts.parked:
            click.echo("see what is parked: cdc-relay dlq list -c FILE")
        _report_missing(result.missing_ids)
    if not result.is_finished:
        click.echo(_GO_ON, err=True)


def _report_missing(ids: list[str]) -> None:
    if ids:
        more = f", and {len(ids) - _SHOWN_IDS:,} more" if len(ids) > _SHOWN_IDS else ""
        click.echo(f"{len(ids):,} ids are not among the rows: {', '.join(ids[:_SHOWN_IDS])}{more}")


def _hint(unfinished: Kept | None) -> None:
    if unfinished is not None and not unfinished.is_busy:
        click.echo(
            f"hint: run {unfinished.id} of {unfinished.began_at} was not finished; --resume would go on with it",
            err=True,
        )


def _require(unfinished: Kept | None) -> tuple[Kept, Selection]:
    if unfinished is None:
        raise RefusedError("there is no unfinished run of this slot", remedy="begin one: without --resume")
    return unfinished, Selection.from_json(unfinished.selection)


def _outboxes(config: RelayConfig, selection: Selection) -> list[Outbox]:
    known = {outbox.label: outbox for outbox in wanted_of(config).outboxes}
    unknown = [label for label in selection.outboxes if label not in known]
    if unknown:
        raise ConfigError(f"the run is about {unknown[0]}, which the file does not have", remedy="add it to outboxes")
    return [known[label] for label in selection.outboxes]


def _make_reader(config: RelayConfig, outboxes: list[Outbox], selection: Selection) -> PageReader:
    return PageReader(
        partial(ShortTransactions, conninfo_of(config)), outboxes, selection, publication=config.source.publication
    )
