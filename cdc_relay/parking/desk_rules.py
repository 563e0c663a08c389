"""What an operator may do with a parked record in which state, and why not. Pure: the decisions, no SQL."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import NamedTuple, Protocol

from cdc_relay.parking.desk_filter import Filter
from cdc_relay.parking.entry import Reason, Status

__all__ = ["TAKEN_BY_ALL", "Deed", "Refusal", "Standing", "judge", "within_reach"]


class Deed(StrEnum):
    RETRY = "retry"
    DISCARD = "discard"
    CANCEL = "cancel"
    EDIT = "edit"


class Standing(Protocol):
    """What of a row the decisions rest on."""

    @property
    def id(self) -> int: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def scheduled_at(self) -> str | None: ...
    @property
    def is_being_published(self) -> bool: ...


class Refusal(NamedTuple):
    id: int
    why: str
    remedy: str

    def __str__(self) -> str:
        return f"record {self.id} {self.why}\n  what to do: {self.remedy}"


TAKEN_BY_ALL = {Deed.RETRY: (Status.DEAD, Status.RETRYING), Deed.DISCARD: (Status.DEAD,)}  # unless a status is named

_FINAL = {
    Status.PUBLISHED: "is published already",
    Status.DISCARDED: "was discarded",
    Status.CANCELLED: "was cancelled",
}
_BRING_BACK = "it stays so; dlq export --status all has its content, and docs/parking.md how to bring it back by hand"


def judge(deed: Deed, row: Standing) -> Refusal | None:
    """None: it may be done."""
    reason = _objection(deed, row, Status(row.status))
    return None if reason is None else Refusal(row.id, *reason)


def within_reach(deed: Deed, wanted: Filter) -> Filter:
    """--all does not mean what needs no retry: records that wait for their topic go out by themselves, in order."""
    if deed is not Deed.RETRY:
        return wanted
    return replace(wanted, reasons=tuple(reason for reason in Reason if reason is not Reason.TOPIC_CLOSED))


def _objection(deed: Deed, row: Standing, status: Status) -> tuple[str, str] | None:
    if status in _FINAL:
        return _FINAL[status], _BRING_BACK
    if row.is_being_published:
        return "is being published at this moment", f"look again in a minute: cdc-relay dlq show {row.id}"
    match deed:
        case Deed.RETRY:
            return _no_retry(row, status)
        case Deed.DISCARD if status is Status.SCHEDULED:
            return "is scheduled", f"cancel it: cdc-relay dlq cancel {row.id}"
        case Deed.CANCEL if status is not Status.SCHEDULED:
            return f"is {status}, not scheduled", f"discard it: cdc-relay dlq discard {row.id} --reason …"
        case _:
            return None


def _no_retry(row: Standing, status: Status) -> tuple[str, str] | None:
    if status is Status.BEHIND:
        return (
            "waits for an earlier record of its key (strict order)",
            "retry or discard the earlier one (dlq list with this topic and key); this one follows by itself",
        )
    if status is Status.SCHEDULED:
        return f"is scheduled for {row.scheduled_at}", f"cancel it (cdc-relay dlq cancel {row.id}), or wait"
    if row.reason == Reason.TOPIC_CLOSED:
        return (
            "waits for its topic and goes out by itself, in order, when the topic takes records again",
            f"repair the topic; or give the record another one: cdc-relay dlq edit {row.id}",
        )
    return None
