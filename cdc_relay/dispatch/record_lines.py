"""What the log says of single records: which one, how often it was tried, and why. Never what is in it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import structlog

from cdc_relay.model import Failure, Record
from cdc_relay.parking.entry import EVENT_FIELDS, Claim, Entry, Mark, Outcome, Reason
from cdc_relay.protocol.lsn import format_lsn
from cdc_relay.sinks.sink import Slip

__all__ = ["describe_record", "tell_delivered", "tell_marked", "tell_parked", "tell_start"]

log = structlog.get_logger()

_NAMES = {"id": "event_id"}
_SHOWN_CHARS = 200


def tell_start(record: Record, slip: Slip) -> None:
    """The record's own topic: a claim that was routed again has none."""
    log.debug("outbox_start", **(describe_record(slip) | {"topic": record.topic}), attempt=_attempt(slip))


def tell_delivered(slip: Slip) -> None:
    log.debug("outbox_success", **describe_record(slip), attempt=_attempt(slip))


def tell_parked(entry: Entry) -> None:
    """The stream's record is in the lot. One that only waits for its topic, its key or its time has not failed."""
    if entry.failure is not None and entry.reason is Reason.FAILURE:
        retries = entry.ticket.policy.retry.max_retries
        _tell(entry.ticket, entry.failure, attempt=0, max_attempts=retries, retry_seconds=entry.retry_seconds)


def tell_marked(mark: Mark) -> None:
    """The lot knows what became of its record."""
    claim = mark.claim
    if mark.outcome is Outcome.FAILED and mark.failure is not None:
        tries = {"attempt": _attempt(claim), "max_attempts": claim.max_attempts}
        _tell(claim, mark.failure, **tries, retry_seconds=mark.retry_seconds)


def describe_record(slip: Slip) -> dict[str, object]:
    """By what its writer, its consumers and `cdc-relay dlq` know it."""
    if isinstance(slip, Claim):
        place = {"outbox": slip.outbox, "topic": slip.topic or None, "lsn": format_lsn(slip.commit_lsn)}
        return {**dict(_event(EVENT_FIELDS, slip.event)), **place, "parked_id": slip.id}
    place = {"outbox": slip.origin.label, "topic": slip.topic or None, "lsn": format_lsn(slip.transaction.commit_lsn)}
    return {**dict(_event(slip.origin.event_fields, slip.event)), **place}


def _tell(slip: Slip, failure: Failure, *, attempt: int, max_attempts: int, retry_seconds: float | None) -> None:
    why = {"code": failure.code, "reason": failure.reason, "remedy": failure.remedy or None}
    tries = {"attempt": attempt, "max_attempts": max_attempts}
    if retry_seconds is None:
        log.error("outbox_failed", **describe_record(slip), **tries, **why)
    else:
        log.warning("outbox_retry", **describe_record(slip), **tries, next_try_at=_time_in(retry_seconds), **why)


def _attempt(slip: Slip) -> int:
    """Of what only waited in the lot, for its topic say, it is the first one."""
    return slip.attempts if isinstance(slip, Claim) and slip.reason is Reason.FAILURE else 0


def _event(names: tuple[str, ...], values: tuple[bytes | None, ...]) -> Iterator[tuple[str, str | None]]:
    for name, value in zip(names, values, strict=False):
        yield _NAMES.get(name, name), None if value is None else _show(value)


def _show(value: bytes) -> str:
    """A writer may put anything into an id: neither a page of it nor what moves a terminal's cursor is shown."""
    text = value[: 4 * _SHOWN_CHARS].decode("utf-8", "backslashreplace")
    shown = text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
    return shown if len(shown) <= _SHOWN_CHARS else f"{shown[:_SHOWN_CHARS]}…"


def _time_in(seconds: float) -> str:
    """By this machine's clock; the lot goes by that of its server."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat(timespec="seconds")
