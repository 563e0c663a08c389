"""Claimed rows as claims: what the loop publishes, or copies to the dead-letter topic. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from cdc_relay.model import Headers, Policy, Record
from cdc_relay.parking.entry import Claim, Purpose, Reason, Status
from cdc_relay.parking.values import headers_size, read_columns, read_headers
from cdc_relay.protocol.lsn import parse_lsn

__all__ = ["ClaimReader"]


class _Row(NamedTuple):
    """As the block `take` of queries.sql selects it."""

    id: bytes
    attempts: bytes
    max_attempts: bytes
    status: bytes
    reason: bytes
    outbox: bytes
    commit_lsn: bytes
    ordinal: bytes
    commit_time_us: bytes
    route: bytes
    topic: bytes | None
    key: bytes | None
    value: bytes | None
    headers: bytes
    partition: bytes | None
    record_ms: bytes
    columns: bytes | None
    strict: bytes
    hold_dead: bytes
    size_bytes: bytes
    is_scheduled: bytes
    suspicion: bytes
    error_class: bytes | None
    error_code: bytes | None
    last_error: bytes | None
    xid: bytes
    event_id: bytes | None
    event_type: bytes | None
    correlation_id: bytes | None
    tenant: bytes | None


class ClaimReader:
    def __init__(self, policies: Mapping[str, Policy], dead_letter_topic: str | None) -> None:
        self._policies = policies
        self._dead_letter_topic = dead_letter_topic or ""

    def read(self, values: tuple[bytes | None, ...]) -> Claim:
        row = _Row(*values)  # type: ignore[arg-type]  # which may be NULL is the table's business
        if row.status == b"dead":
            return self._copy(row)
        return _claim(row, Purpose.PUBLISH, self._policy(row), self._record(row))

    def _policy(self, row: _Row) -> Policy:
        """The row says what it promised when it was parked; how often to retry is today's configuration."""
        route = row.route.decode()
        retry = self._policies.get(route, Policy(route)).retry
        return Policy(route, strict=row.strict == b"true", hold_dead=row.hold_dead == b"true", retry=retry)

    def _record(self, row: _Row) -> Record | None:
        if row.topic is None:
            return None
        return _record(row, row.topic.decode(), row.value, read_headers(row.headers), self._policy(row))

    def _copy(self, row: _Row) -> Claim:
        """A copy keeps no order: it is another topic, and its record has given up."""
        policy = replace(self._policy(row), strict=False, hold_dead=False)
        value = row.columns if row.topic is None and row.value is None else row.value
        headers = read_headers(row.headers) + _error_headers(row)
        record = _record(row, self._dead_letter_topic, value, headers, policy)
        return _claim(row, Purpose.COPY, policy, record._replace(partition=-1))


def _error_headers(row: _Row) -> Headers:
    return [
        ("cdc-relay-error-class", row.error_class),
        ("cdc-relay-error-code", row.error_code),
        ("cdc-relay-error", row.last_error),
        ("cdc-relay-attempts", row.attempts),
        ("cdc-relay-original-topic", row.topic),
        ("cdc-relay-lsn", row.commit_lsn),
    ]


def _record(row: _Row, topic: str, value: bytes | None, headers: Headers, policy: Policy) -> Record:
    size = len(row.key or b"") + len(value or b"") + headers_size(headers)
    partition = -1 if row.partition is None else int(row.partition)
    return Record(topic, row.key, value, headers, int(row.record_ms), size, policy, partition)


def _claim(row: _Row, purpose: Purpose, policy: Policy, record: Record | None) -> Claim:
    return Claim(
        id=int(row.id),
        attempts=int(row.attempts),
        max_attempts=int(row.max_attempts),
        purpose=purpose,
        status=Status(row.status.decode()),
        reason=Reason(row.reason.decode()),
        outbox=row.outbox.decode(),
        commit_lsn=parse_lsn(row.commit_lsn.decode()),
        ordinal=int(row.ordinal),
        commit_time_us=int(row.commit_time_us),
        xid=int(row.xid),
        topic=record.topic if record else "",
        size_bytes=record.size_bytes if record else int(row.size_bytes),
        headers=record.headers if record else read_headers(row.headers),
        policy=policy,
        record=record,
        columns=read_columns(row.columns) if record is None and row.columns is not None else None,
        is_scheduled=row.is_scheduled == b"true",
        suspicion=int(row.suspicion),
        event=(row.event_id, row.event_type, row.correlation_id, row.tenant),
    )
