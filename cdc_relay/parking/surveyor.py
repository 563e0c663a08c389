"""What the lot looks like at a moment, and what a new session has to know of it. Reads, but for the run's own row."""

from __future__ import annotations

import orjson

from cdc_relay.model import Identity
from cdc_relay.parking.entry import KeyScope, Status, Survey
from cdc_relay.parking.lot_line import LotLine
from cdc_relay.parking.values import as_bool
from cdc_relay.protocol.lsn import format_lsn, parse_lsn

__all__ = ["read_identities", "read_survey", "read_suspects", "write_identity"]

Values = tuple[bytes | None, ...]


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


def write_identity(identity: Identity) -> str:
    """As cdc_relay.runs knows a record: readable, and the same text for the same record."""
    return orjson.dumps(identity).decode()


def read_suspects(printed: bytes | None) -> dict[Identity, int]:
    return {_parse_identity(text): deaths for text, deaths in orjson.loads(printed or b"{}").items()}


def _parse_identity(text: str) -> Identity:
    outbox, lsn, ordinal, time_us = orjson.loads(text)
    return outbox, lsn, ordinal, time_us


def _head(row: Values) -> tuple[KeyScope, Status]:
    topic, key, status = row
    return ((topic or b"").decode(), key), Status((status or b"").decode())


def _identity(row: Values) -> Identity:
    outbox, lsn, ordinal, time_us = ((value or b"").decode() for value in row)
    return outbox, parse_lsn(lsn), int(ordinal), int(time_us)
