"""What a record looks like on the wire, as plain data: how it is kept in the golden file and compared. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

__all__ = ["Outcome", "Stopped", "Wire", "from_json", "parts_that_differ", "show", "spell", "to_json", "unspell"]

Bytes = str | dict[str, str] | None  # text where it is UTF-8, else {"hex": …}
Headers = list[tuple[str, Bytes]]


@dataclass(frozen=True, slots=True)
class Wire:
    topic: str
    partition: int | None  # None: nothing in the row decides it
    key: Bytes
    value: Bytes
    headers: Headers
    timestamp_ms: int | None  # None: nothing in the row decides it


@dataclass(frozen=True, slots=True)
class Stopped:
    """There is no record: Debezium's task ended, or the relay parked the row."""

    reason: str


Outcome = Wire | Stopped


def spell(value: bytes | None) -> Bytes:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"hex": value.hex()}


def unspell(value: Bytes) -> bytes | None:
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"])
    return None if value is None else value.encode()


def to_json(outcome: Outcome) -> dict[str, Any]:
    return {"stops": outcome.reason} if isinstance(outcome, Stopped) else {"record": asdict(outcome)}


def from_json(kept: dict[str, Any]) -> Outcome:
    if "stops" in kept:
        return Stopped(kept["stops"])
    record = kept["record"]
    return Wire(**{**record, "headers": [(name, value) for name, value in record["headers"]]})


def parts_that_differ(theirs: Outcome, ours: Outcome, *, is_json: bool) -> Iterator[str]:
    """Names of the parts, or `record` where only one of the two has one. A part that nothing decides is not compared;
    of headers and of JSON objects the single ones are named where they are the same but for their values.

    JSON documents are compared by what they mean to a reader who keeps order, duplicates and every digit: blanks and
    escapes are the printer's affair."""
    if isinstance(theirs, Stopped) or isinstance(ours, Stopped):
        if theirs != ours:
            yield "record"
        return
    if theirs.topic != ours.topic:
        yield "topic"
    if None not in (theirs.partition, ours.partition) and theirs.partition != ours.partition:
        yield "partition"
    if theirs.key != ours.key:
        yield "key"
    if theirs.value != ours.value:
        yield from _values_that_differ(theirs.value, ours.value) if is_json else ["value"]
    yield from _members_that_differ("headers", theirs.headers, ours.headers)
    if None not in (theirs.timestamp_ms, ours.timestamp_ms) and theirs.timestamp_ms != ours.timestamp_ms:
        yield "timestamp_ms"


def show(outcome: Outcome, part: str) -> str:
    """One part, for a person who reads differences."""
    if isinstance(outcome, Stopped):
        return f"no record: {outcome.reason}"
    name, _, member = part.partition(".")
    if name == "value" and member:
        return json.dumps(json.loads(str(outcome.value))[member], ensure_ascii=False)
    if member:
        return repr(dict(outcome.headers)[member])
    return repr(outcome if name == "record" else asdict(outcome)[name])


def _values_that_differ(theirs: Bytes, ours: Bytes) -> Iterator[str]:
    left, right = _meaning(theirs), _meaning(ours)
    if isinstance(left, _Object) and isinstance(right, _Object):
        yield from _members_that_differ("value", left.members, right.members)
    elif left != right:
        yield "value"


def _members_that_differ(part: str, theirs: list[tuple[str, Any]], ours: list[tuple[str, Any]]) -> Iterator[str]:
    if [name for name, _ in theirs] != [name for name, _ in ours]:
        yield part
        return
    yield from (f"{part}.{name}" for (name, left), (_, right) in zip(theirs, ours, strict=True) if left != right)


@dataclass(frozen=True, slots=True)
class _Object:
    """A JSON object. No list: an empty one is no empty array."""

    members: list[tuple[str, Any]]  # in order, duplicates too


def _meaning(value: Bytes) -> Any:
    if not isinstance(value, str):
        return ("no text", value)
    try:
        return json.loads(value, object_pairs_hook=_Object, parse_float=_number, parse_int=_number)
    except json.JSONDecodeError:
        return ("no JSON", value)


def _number(text: str) -> tuple[str, Decimal]:
    """No bare Decimal: in Python 1 is True."""
    return "number", Decimal(text)
