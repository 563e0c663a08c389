"""What would be taken down, and what is lost with it, in words. Pure: facts in, lines out."""

from __future__ import annotations

from collections.abc import Iterator

from cdc_relay.admin.teardown_facts import PEEK_LIMIT, PublicationThere, SchemaThere, SlotThere
from cdc_relay.admin.teardown_plan import TeardownFacts
from cdc_relay.config import quote_identifier
from cdc_relay.sources.preflight import Wanted

__all__ = ["describe"]

_UNPUBLISHED = ("retrying", "behind", "scheduled", "dead")


def describe(facts: TeardownFacts, wanted: Wanted, *, with_lot: bool) -> Iterator[str]:
    """A line for each thing, and indented below it what it costs."""
    yield from _slot_lines(facts, wanted)
    yield from _publication_lines(facts.publication, wanted)
    yield from _memory_lines(facts.schema, wanted.slot)
    yield from _lot_lines(facts, wanted.slot, with_lot=with_lot)
    yield "the outbox tables and their rows are not touched"


def _slot_lines(facts: TeardownFacts, wanted: Wanted) -> Iterator[str]:
    if facts.slot is None:
        yield f"slot {wanted.slot}: not there"
        return
    yield f"slot {wanted.slot}: goes, with the position up to which events were delivered ({facts.slot.confirmed_lsn})"
    yield f"  {_waiting(facts.slot, facts.waiting_rows)}"
    yield f"  Postgres may remove {facts.slot.kept_bytes:,} bytes of WAL that it keeps for it"


def _waiting(slot: SlotThere, rows: int | None) -> str:
    unread = f"{slot.unconfirmed_bytes:,} bytes of WAL are unconfirmed"
    if slot.wal_status == "lost":
        return "the slot is lost already: Postgres has removed WAL that it needed"
    if rows is None:
        return f"{unread}; events in them could not be counted, and would not be published"
    if rows >= PEEK_LIMIT:
        return f"{unread}: {PEEK_LIMIT:,} events or more in them would not be published"
    if rows:
        return f"{unread}: {rows:,} event{'s'[: rows > 1]} in them would not be published"
    return f"{unread}, with no event in them"


def _publication_lines(publication: PublicationThere | None, wanted: Wanted) -> Iterator[str]:
    name = quote_identifier(wanted.publication)
    if publication is None:
        yield f"publication {name}: not there"
        return
    yield f"publication {name}: goes"
    ours = {box.label for box in wanted.tables}
    others = [table for table in publication.tables if table not in ours]
    if publication.all_tables:
        yield "  it is FOR ALL TABLES: whoever else reads through it gets nothing more"
    elif others:
        yield f"  it also has {', '.join(others)}: whoever reads those through it gets nothing more"
    if publication.other_slots:
        yield f"  other slots of this database, which may be read through it: {', '.join(publication.other_slots)}"


def _memory_lines(schema: SchemaThere | None, slot: str) -> Iterator[str]:
    remembered = {} if schema is None else {table: count for table, count in schema.remembered.items() if count}
    if remembered:
        listed = ", ".join(f"{table} {count}" for table, count in remembered.items())
        yield f"what schema cdc_relay remembers of slot {slot}: goes with it ({listed})"


def _lot_lines(facts: TeardownFacts, slot: str, *, with_lot: bool) -> Iterator[str]:
    lot = facts.lot
    if lot is None or not lot.has_lot:
        yield "lot: not there"
        return
    counts = ", ".join(f"{count:,} {status}" for status, count in lot.parked.items()) or "nothing parked"
    yield f"lot in database {lot.database}: {counts}; {'goes' if with_lot else 'stays (--lot takes it down too)'}"
    if unpublished := sum(lot.parked.get(status, 0) for status in _UNPUBLISHED):
        yield f"  {_unpublished(unpublished, slot, with_lot=with_lot)}"
    if with_lot and lot.other_slots:
        yield f"  schema cdc_relay stays for other slots: {', '.join(lot.other_slots)}"


def _unpublished(count: int, slot: str, *, with_lot: bool) -> str:
    records = f"{count:,} record{'s'[: count > 1]} of them"
    if with_lot:
        return f"{records} would never be published; to keep them: cdc-relay dlq export -c FILE > parked.jsonl"
    return f"{records} would wait until a relay reads a slot named {slot} again"
