"""Rows of the lot for unit tests, as the table would give them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cdc_relay.parking.desk_row import ParkedRow

__all__ = ["make_row"]

_ROW = ParkedRow(
    id=17,
    slot="orders",
    status="dead",
    reason="failure",
    outbox="public.outbox",
    commit_lsn="16/B374D848",
    ordinal=0,
    commit_time="2026-01-31T08:00:00.123456+00:00",
    xid=743,
    route="orders",
    topic="orders.events.v1",
    key=b"4711",
    partition=None,
    record_time="2026-01-31T08:00:00+00:00",
    strict=False,
    hold_dead=False,
    size_bytes=20,
    event_id="e1",
    event_type="Placed",
    correlation_id=None,
    tenant=None,
    attempts=5,
    max_attempts=5,
    first_failed_at=None,
    last_error_at=None,
    last_error=None,
    error_code=None,
    error_class=None,
    remedy=None,
    next_retry_at=None,
    scheduled_at=None,
    published_at=None,
    copied_at=None,
    parked_at="2026-01-31T08:00:00+00:00",
    claimed_at=None,
    suspicion=0,
    is_being_published=False,
    read_at="2026-01-31T11:00:00+00:00",
    value=b'{"total": 1.10}',
    headers=[{"name": "id", "value": "e1"}],
    columns=None,
    edits=[],
)


def make_row(**changes: Any) -> ParkedRow:
    return replace(_ROW, **changes)
