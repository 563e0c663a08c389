"""What the lot looks like at a moment, and what a new session has to know of it. Reads, but for the run's own row."""

from __future__ import annotations

from typing import NamedTuple

import orjson

from cdc_relay.model import Identity
from cdc_relay.parking.entry import KeyScope, Status, Survey
from cdc_relay.parking.lot_line import LotLine
from cdc_relay.parking.values import as_bool
from cdc_relay.protocol.lsn import format_lsn, parse_lsn

__all__ = ["Notes", "read_identities", "read_notes", "read_survey", "write_note"]

Values = tuple[bytes | None, ...]


class Notes(NamedTuple):
    """As Inventory has them."""

    suspects: dict[Identity, int]
    handfuls: dict[Identity, int]


def read_survey(line: LotLine, slot: str, *, has_copies: bool) -> Survey:
    usage = line.query("usage", slot)
    due = line.query("due_seconds", slot, as_bool(has_copies))
    ages = [float(age) for *_, age in usage if age is not None]
    return Survey(
        heads=dict(_head(row) for row in line.query("heads", slot)),
        waiting_topics=frozenset((topic or b"").decode() for (topic,) in line.query("waiting_topics", slot)),
        due_seconds=float(due[0][0] or 0) if due else None,
        counts={Status((status or b"").decode()): int(count or 0) for status, count, *_ in usage},
        live_count=sum(int(count or 0) for _, count, _, _ in usage),
        live_bytes=sum(int(size or 0) for _, _, size, _ in usage),
        oldest_seconds=max(ages, default=None),
    )


def read_identities(line: LotLine, slot: str, confirmed_lsn: int) -> frozenset[Identity]:
    rows = line.query("identities", slot, format_lsn(confirmed_lsn))
    return frozenset(_identity(row) for row in rows)


def write_note(identity: Identity, count: int) -> str:
    """As cdc_relay.runs knows a record, or the first of several: readable, and the same text for the same record."""
    return orjson.dumps(identity if count == 1 else (*identity, count)).decode()


def read_notes(printed: bytes | None) -> Notes:
    notes = Notes({}, {})
    for text, deaths in orjson.loads(printed or b"{}").items():
        outbox, lsn, ordinal, time_us, *count = orjson.loads(text)
        if count:
            notes.handfuls[outbox, lsn, ordinal, time_us] = count[0]
        else:
            notes.suspects[outbox, lsn, ordinal, time_us] = deaths
    return notes


def _head(row: Values) -> tuple[KeyScope, Status]:
    topic, key, status = row
    return ((topic or b"").decode(), key), Status((status or b"").decode())


def _identity(row: Values) -> Identity:
    outbox, lsn, ordinal, time_us = ((value or b"").decode() for value in row)
    return outbox, parse_lsn(lsn), int(ordinal), int(time_us)
