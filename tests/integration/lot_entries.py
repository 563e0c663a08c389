"""Entries by what became of their record: behind another, waiting for its topic, dead, or scheduled."""

from __future__ import annotations

from cdc_relay.model import Policy
from cdc_relay.parking.entry import Entry, Reason, Status
from tests.integration.lots import FAILURE, RELAXED, STRICT, TOPIC, make_entry

__all__ = ["LATER", "behind", "dead", "scheduled", "waiting"]

LATER = 600.0


def behind(lsn: int, key: bytes = b"k", *, policy: Policy = STRICT) -> Entry:
    return make_entry(lsn, key, policy=policy, status=Status.BEHIND, reason=Reason.BEHIND)


def waiting(lsn: int, key: bytes = b"k", *, policy: Policy = RELAXED, topic: str = TOPIC) -> Entry:
    return make_entry(lsn, key, policy=policy, topic=topic, reason=Reason.TOPIC_CLOSED)


def dead(lsn: int, *, policy: Policy = STRICT) -> Entry:
    return make_entry(lsn, policy=policy, status=Status.DEAD, failure=FAILURE)


def scheduled(lsn: int, at: str, *, policy: Policy = STRICT) -> Entry:
    return make_entry(lsn, policy=policy, status=Status.SCHEDULED, reason=Reason.SCHEDULE, scheduled_at=at)
