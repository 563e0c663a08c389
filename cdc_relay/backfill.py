"""The rows that were committed before the slot: published around the slot's exported snapshot, each once, no gap.

The intent is written down before the slot is made. Whoever finds it unfinished drops the slot that it made and begins
again: nobody has read that slot, because `run` refuses until the backfill is finished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial

from cdc_relay.config import RelayConfig
from cdc_relay.errors import RefusedError, RelayError
from cdc_relay.protocol.lsn import format_lsn, parse_lsn
from cdc_relay.replay.journal import Counts, Journal, Kept
from cdc_relay.replay.position import Position
from cdc_relay.replay.reader import PageReader, Session
from cdc_relay.replay.selection import Selection
from cdc_relay.replay.stamp import BACKFILL_HEADER
from cdc_relay.replay.table_session import ShortTransactions, Snapshot
from cdc_relay.republish import Progress, Republication, Result
from cdc_relay.routing.outbox import Outbox
from cdc_relay.sources.catalog import read_facts
from cdc_relay.sources.exported_slot import ExportedSlot, drop_slot, export_slot, made_no_slot
from cdc_relay.sources.guard import see_publication
from cdc_relay.sources.guard_table import GuardTable
from cdc_relay.sources.line import Line
from cdc_relay.sources.preflight import Wanted
from cdc_relay.stop import Stop
from cdc_relay.target import conninfo_of, replication_conninfo_of, wanted_of

__all__ = ["backfill"]

_KIND = "backfill"
_SLOT_LSN = "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = $1"


def backfill(
    config: RelayConfig,
    *,
    rate: int | None,
    stop: Stop,
    say: Callable[[str], None],
    show: Callable[[Progress], None],
) -> Result:
    """After publication and schema are there, and before the slot is."""
    slot = config.source.slot
    with closing(Journal(conninfo_of(config), slot=slot)) as journal, closing(Line.open(conninfo_of(config))) as line:
        journal.hold(f"the backfill of slot {slot}")
        with closing(_make_reader(config, partial(ShortTransactions, conninfo_of(config)))) as reader:
            reader.prepare()  # what it may not read is said before anything is made
        kept = _begin(config, journal, line, say)
        with _export(config, journal, line, kept) as exported:
            say(f"slot {slot}: created at {format_lsn(exported.lsn)}; rows committed before that are published now")
            return _publish(config, kept, journal, exported, rate=rate, stop=stop, show=show)


def _begin(config: RelayConfig, journal: Journal, line: Line, say: Callable[[str], None]) -> Kept:
    slot = config.source.slot
    unfinished = journal.find_unfinished(_KIND)
    if unfinished is not None:
        say(f"backfill {unfinished.id} was not finished: it begins again")
        kept = journal.resume(unfinished.id)  # first: from here on whoever had it before writes nothing more
        _undo(kept, line, slot, say)
        journal.note_slot(kept, None)
        return kept
    if rows := line.query(_SLOT_LSN, [slot]):
        raise RefusedError(
            f"slot {slot} is there already, confirmed up to {rows[0][0]}, and no unfinished backfill made it: what was"
            " committed before it cannot be told from what it has",
            remedy="publish rows again with cdc-relay replay -c FILE (consumers may get some twice)",
        )
    [(now_lsn,)] = line.query("SELECT pg_current_wal_lsn()")
    return journal.begin(_KIND, _select(wanted_of(config).tables), begins_after=now_lsn)


def _undo(unfinished: Kept, line: Line, slot: str, say: Callable[[str], None]) -> None:
    not_before = parse_lsn(str(unfinished.selection.get("begins_after") or "0/0"))
    if drop_slot(line, slot, lsn=unfinished.slot_lsn, not_before=not_before):
        say(f"slot {slot}: dropped; it was made by that backfill, and nobody has read it")


@contextmanager
def _export(config: RelayConfig, journal: Journal, line: Line, kept: Kept) -> Iterator[ExportedSlot]:
    try:
        exported = export_slot(replication_conninfo_of(config), config.source.slot, control=line)
    except RelayError as exc:
        if made_no_slot(exc):
            journal.abandon(kept)  # or a slot that somebody else makes later would count as ours
        raise
    with closing(exported):
        journal.note_slot(kept, exported.lsn)
        _begin_guard(line, wanted_of(config), exported.lsn)
        yield exported


def _begin_guard(line: Line, wanted: Wanted, slot_lsn: int) -> None:
    """Anew: whatever a slot before this one missed is in the table, and so in the backfill."""
    tables = [(outbox.schema, outbox.name) for outbox in wanted.tables]
    facts = read_facts(line, slot=wanted.slot, publication=wanted.publication, tables=tables)
    GuardTable(wanted.slot, tables).begin_anew(line, see_publication(facts, wanted), ceiling_lsn=slot_lsn)


def _publish(
    config: RelayConfig,
    kept: Kept,
    journal: Journal,
    exported: ExportedSlot,
    *,
    rate: int | None,
    stop: Stop,
    show: Callable[[Progress], None],
) -> Result:
    reader = _make_reader(config, partial(Snapshot, conninfo_of(config), exported.snapshot))
    return Republication(
        config,
        _from_the_start(kept),
        reader,
        journal,
        headers=[(BACKFILL_HEADER, f"{kept.id}/{kept.attempt}".encode())],
        total_blocks=reader.prepare(),
        rate=rate,
        stop=stop,
        show=show,
    ).run()


def _make_reader(config: RelayConfig, open_session: Callable[[], Session]) -> PageReader:
    outboxes = wanted_of(config).tables
    return PageReader(open_session, outboxes, _select(outboxes), publication=config.source.publication)


def _select(outboxes: tuple[Outbox, ...]) -> Selection:
    return Selection(tuple(outbox.label for outbox in outboxes))


def _from_the_start(kept: Kept) -> Kept:
    """Another slot, another snapshot."""
    return Kept(
        kept.id, kept.attempt, kept.selection, Position(), Counts(), slot_lsn=kept.slot_lsn, began_at=kept.began_at
    )
