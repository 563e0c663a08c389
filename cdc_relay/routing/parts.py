"""The parts of a record that a column or template may give beside topic, key and value: partition, time, headers."""

from __future__ import annotations

from cdc_relay.model import Headers
from cdc_relay.routing.json_text import BadJsonError, plain, scan_object
from cdc_relay.routing.schedule import parse_due

__all__ = ["read_headers", "read_partition", "read_timestamp_ms"]

_LAST_PARTITION = 2**31 - 1
_LAST_MS = 9_224_318_015_999  # where a timestamptz ends, and the lot keeps a record's time as one
_MOST_DIGITS = 20  # Python counts no more than 4,300, and cut short they would be another number
BY_KEY = -1


def read_partition(value: bytes | None) -> int:
    """NULL leaves it to the partitioner."""
    if value is None:
        return BY_KEY
    if not value.isdigit() or len(value) > 10 or int(value) > _LAST_PARTITION:
        raise ValueError("no partition")
    return int(value)


def read_timestamp_ms(value: bytes) -> int:
    """A point in time as Postgres prints it, or milliseconds since 1970; Kafka knows nothing before that."""
    at_ms = _read_ms(value)
    if at_ms is None or not 0 <= at_ms <= _LAST_MS:
        raise ValueError("no time that Kafka knows")
    return at_ms


def _read_ms(value: bytes) -> int | None:
    if value.isdigit():
        return int(value) if len(value) <= _MOST_DIGITS else None
    due = parse_due(value)
    return None if due is None else due.at_us // 1000


def read_headers(value: bytes | None) -> Headers:
    """The fields of a JSON object, in order: strings as their text, null as NULL, anything else as it is written."""
    if value is None:
        return []
    try:
        headers: Headers = [(name, plain(raw)) for name, raw in scan_object(value).items()]
        names = "".join(name for name, _ in headers).encode()
    except (BadJsonError, UnicodeEncodeError):  # a lone surrogate is a name in JSON, and no text anywhere else
        raise ValueError("no JSON object of names") from None
    if b"\0" in names:  # the client would cut the name there without a word
        raise ValueError("no JSON object of names")
    return headers
