"""Entries and marks as parameters of their statements, field by field. Knows the table's columns, runs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cdc_relay.model import Failure, Ticket
from cdc_relay.parking.entry import EVENT_FIELDS, Entry, Mark
from cdc_relay.parking.values import as_bool, as_columns, as_headers, as_text, as_timestamp
from cdc_relay.protocol.lsn import format_lsn
from cdc_relay.sources.line import Param

__all__ = ["ENTRY_FIELDS", "MARK_FIELDS", "Row", "chunks", "entry_row", "mark_row", "size_of"]

Row = tuple[Param, ...]

ENTRY_FIELDS = (
    *("status", "reason", "outbox", "commit_lsn", "ordinal", "commit_time", "xid", "route", "strict", "hold_dead"),
    *("max_attempts", "topic", "key", "value", "headers", "partition", "record_time", "columns", "size_bytes"),
    *("event_id", "event_type", "correlation_id", "tenant"),
    *("last_error", "error_code", "error_class", "remedy", "retry_seconds", "scheduled_at"),
    *("run", "run_row"),
)
MARK_FIELDS = (
    *("id", "attempts", "outcome", "retry_seconds", "last_error", "error_code", "error_class", "remedy"),
    *("has_record", "topic", "key", "value", "headers"),
)
_CHUNK_ROWS = 128  # 3,968 parameters of the 65,535 that a statement may have; more rows are not faster
_CHUNK_BYTES = 4 << 20


def entry_row(entry: Entry, *, is_utf8: bool) -> Row:
    ticket, policy = entry.ticket, entry.ticket.policy
    transaction = ticket.transaction
    return (
        entry.status.value,
        entry.reason.value,
        ticket.origin.label,
        format_lsn(transaction.commit_lsn),
        str(ticket.ordinal),
        as_timestamp(transaction.commit_time_us),
        str(transaction.xid),
        as_text(policy.route, is_utf8=is_utf8),
        as_bool(policy.strict),
        as_bool(policy.hold_dead),
        str(policy.retry.max_retries),
        *_record_params(entry, is_utf8),
        str(size_of(entry)),
        *_event_params(ticket, is_utf8),
        *_failure_params(entry.failure, is_utf8),
        _number(entry.retry_seconds),
        entry.scheduled_at,
        transaction.run,
        transaction.run_row,
    )


def mark_row(mark: Mark, *, is_utf8: bool) -> Row:
    claim, record = mark.claim, mark.record
    head = (str(claim.id), str(claim.attempts), mark.outcome.value, _number(mark.retry_seconds))
    failure = _failure_params(mark.failure, is_utf8)
    if record is None:
        return (*head, *failure, "f", None, None, None, None)
    headers = as_headers(record.headers, is_utf8=is_utf8)
    return (*head, *failure, "t", record.topic, record.key, record.value, headers)


def size_of(entry: Entry) -> int:
    return entry.ticket.size_bytes if entry.record is None else entry.record.size_bytes


def chunks(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """In order; bounded in rows and, but for one row that is larger, in bytes."""
    chunk: list[Row] = []
    chunk_bytes = 0
    for row in rows:
        row_bytes = sum(len(param) for param in row if isinstance(param, bytes))
        if chunk and (len(chunk) == _CHUNK_ROWS or chunk_bytes + row_bytes > _CHUNK_BYTES):
            yield chunk
            chunk, chunk_bytes = [], 0
        chunk.append(row)
        chunk_bytes += row_bytes
    if chunk:
        yield chunk


def _record_params(entry: Entry, is_utf8: bool) -> Row:
    """topic, key, value, headers, partition, record_time, columns"""
    record, columns = entry.record, entry.columns
    row_columns = None if columns is None else as_columns(columns, is_utf8=is_utf8)
    if record is None:
        commit_time_us = entry.ticket.transaction.commit_time_us
        time = as_timestamp(commit_time_us) if commit_time_us else None  # a message of no transaction: that of the lot
        # Kept, not recalled: the row could not be routed.
        headers = as_headers(entry.ticket.find_headers(), is_utf8=is_utf8)
        return (None, entry.key, entry.value, headers, None, time, row_columns)
    headers = as_headers(record.headers, is_utf8=is_utf8)
    partition = None if record.partition < 0 else str(record.partition)
    time = as_timestamp(record.timestamp_ms * 1000)
    return (record.topic, record.key, record.value, headers, partition, time, row_columns)


def _event_params(ticket: Ticket, is_utf8: bool) -> Row:
    """id, type, correlation id, tenant; not every outbox maps all of them."""
    event = dict(zip(ticket.origin.event_fields, ticket.event, strict=False))
    return tuple(as_text(event.get(field), is_utf8=is_utf8) for field in EVENT_FIELDS)


def _failure_params(failure: Failure | None, is_utf8: bool) -> Row:
    if failure is None:
        return (None, None, None, None)
    reason, remedy = as_text(failure.reason, is_utf8=is_utf8), as_text(failure.remedy, is_utf8=is_utf8)
    return (reason, failure.code, failure.error_class.value, remedy)


def _number(value: float | None) -> str | None:
    return None if value is None else repr(float(value))
