"""What marks a record as one of a run: a header in every envelope, and no claim to strict order. Pure."""

from __future__ import annotations

from dataclasses import replace

from cdc_relay.model import DROPPED, Dropped, Headers, Policy, Record, Scheduled, Unroutable

__all__ = ["BACKFILL_HEADER", "REPLAY_HEADER", "add_headers", "stamp"]

REPLAY_HEADER = "cdc-relay-replay"
BACKFILL_HEADER = "cdc-relay-backfill"

_plain: dict[Policy, Policy] = {}


def stamp(routed: Record | Scheduled | Unroutable, headers: Headers) -> Record | Scheduled | Unroutable:
    """The key's live records must not wait for one of a run: it is out of its order anyway."""
    if isinstance(routed, Record):
        return _stamp(routed, headers)
    if isinstance(routed, Scheduled):
        return routed._replace(record=_stamp(routed.record, headers))
    return routed._replace(policy=_without_order(routed.policy))


def add_headers(routed: Record | Unroutable | Dropped, headers: Headers) -> Record | Unroutable | Dropped:
    """A parked row of a run, routed again: it has been kept with its headers."""
    if not headers or routed is DROPPED:
        return routed
    return _stamp(routed, headers) if isinstance(routed, Record) else routed


def _stamp(record: Record, headers: Headers) -> Record:
    size_bytes = record.size_bytes + sum(len(name) + len(value or b"") for name, value in headers)
    policy = _without_order(record.policy)
    return record._replace(headers=[*record.headers, *headers], size_bytes=size_bytes, policy=policy)


def _without_order(policy: Policy) -> Policy:
    if policy not in _plain:
        _plain[policy] = replace(policy, strict=False, hold_dead=False)
    return _plain[policy]
