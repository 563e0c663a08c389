"""The attributes of a CloudEvent: which part of a row or its transaction is which. Names are `a-z0-9` only.

Required are id, source, specversion and type. What is NULL or empty is left out, as the specification asks. The
record's key is none of them: the Kafka binding (3.1) forbids to add one for a key that the configuration chose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import NamedTuple
from urllib.parse import quote as escape_uri

from cdc_relay.model import Failure, Headers, Transaction
from cdc_relay.protocol.messages import Column
from cdc_relay.routing import refusals
from cdc_relay.routing.envelopes.envelope import Source, Values
from cdc_relay.routing.envelopes.members import per_transaction, place
from cdc_relay.routing.event_columns import EventColumns
from cdc_relay.routing.values import iso_utc

__all__ = ["Attributes", "Mapped", "bind_attributes", "default_source", "map_attributes", "rfc3339"]

Attributes = Callable[[Values, Source], Headers | Failure]

_ALWAYS = ("specversion", "id", "source", "type", "time", "sequence")
_LAST_MS = 253_402_300_799_999  # of the year 9999
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f]")
# As Postgres prints it, or RFC 3339 already (a text column, a message).
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9:]{8}(?:\.[0-9]{1,6})?)(\+00|Z|[-+][0-9]{2}:[0-9]{2})?")


class _Attribute(NamedTuple):
    name: str
    column: str
    at: int  # its place in the row


class Mapped(NamedTuple):
    """Where a relation has its attributes, and how they are spelt."""

    found: dict[str, _Attribute]
    more: list[tuple[str, int]]  # beside id and type: name and place
    source: bytes
    names: tuple[str, ...]  # of those that are not from one column alone, or required: see _ALWAYS


def map_attributes(
    outbox: EventColumns, columns: tuple[Column, ...], *, source: str | None, subject: str | None, prefix: str
) -> Mapped:
    found = {name: _Attribute(name, column, place(columns, column)) for name, column in _mapped(outbox, subject)}
    more = [(prefix + name, at) for name, _, at in found.values() if name not in ("id", "type")]
    uri = (source or default_source(outbox.label)).encode()
    return Mapped(found, more, uri, tuple(prefix + name for name in _ALWAYS))


def bind_attributes(
    outbox: EventColumns, columns: tuple[Column, ...], *, source: str | None, subject: str | None, prefix: str
) -> Attributes:
    found, more, uri, names = map_attributes(outbox, columns, source=source, subject=subject, prefix=prefix)
    id_at, type_at = found["id"].at, found["type"].at
    version_name, id_name, source_name, type_name, time_name, sequence_name = names
    version, named_uri = (version_name, b"1.0"), (source_name, uri)
    read_time, commit = _bind_time(outbox, columns), per_transaction(_render_commit)

    def attributes(row: Values, source: Source) -> Headers | Failure:
        event_id, kind, (committed_at, lsn) = row[id_at], row[type_at], commit(source.transaction)
        if not event_id or not kind:
            return _refuse_missing(row, found["id"], found["type"])
        told: Headers = [version, (id_name, event_id), named_uri, (type_name, kind)]
        told += [(name, value) for name, at in more if (value := row[at])]
        if not _is_fit(b" ".join([value or b"" for _, value in told])):
            return _refuse_unfit(row, found.values())
        time = read_time(row, committed_at)
        if time is None:
            return refusals.bad_event_time(outbox.timestamp_column or "")
        if time:  # a message that no commit was waited for has none
            told.append((time_name, time))
        told.append((sequence_name, b"%b-%08X" % (lsn, source.ordinal)))
        return told

    return attributes


def default_source(label: str) -> str:
    """A URI reference, whatever signs the table's name has."""
    return f"/cdc-relay/{escape_uri(label)}"


def rfc3339(printed: bytes) -> bytes | None:
    """What has no zone is UTC. None: no such day, or before Christ, beyond 9999, infinite: RFC 3339 cannot say it."""
    if printed.isdigit() and len(printed) <= 15:  # milliseconds since 1970, as the record's time may be given
        return iso_utc(int(printed) * 1000).encode() if int(printed) <= _LAST_MS else None
    match = _MOMENT.fullmatch(printed.decode("utf-8", "replace"))
    if match is None:
        return None
    day, clock, zone = match.groups()
    text = f"{day}T{clock}{'Z' if zone in (None, '+00') else zone}"
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return None
    return text.encode()


def _mapped(outbox: EventColumns, subject: str | None) -> Iterator[tuple[str, str]]:
    named = {
        "id": outbox.id_column,
        "type": outbox.type_column,
        "subject": subject,
        "correlationid": outbox.correlation_column,
        "causationid": outbox.causation_column,
        "tenant": outbox.tenant_column,
        "schemaversion": outbox.version_column,
    }
    return ((name, column) for name, column in named.items() if column is not None)


def _bind_time(outbox: EventColumns, columns: tuple[Column, ...]) -> Callable[[Values, bytes], bytes | None]:
    """When the event occurred; where that is unknown, when it was committed."""
    if outbox.timestamp_column is None:
        return lambda row, committed_at: committed_at
    index = place(columns, outbox.timestamp_column)

    def read(row: Values, committed_at: bytes) -> bytes | None:
        printed = row[index]
        return committed_at if printed is None else rfc3339(printed)

    return read


def _render_commit(transaction: Transaction) -> tuple[bytes, bytes]:
    """Its time, and its LSN with a fixed width: as text, sequences sort in the order of the stream."""
    committed_at = iso_utc(transaction.commit_time_us).encode() if transaction.commit_time_us else b""
    return committed_at, b"%016X" % transaction.commit_lsn


def _is_fit(text: bytes) -> bool:
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        return False
    return decoded.isprintable() or _CONTROL.search(decoded) is None  # the first is ten times faster


def _refuse_missing(row: Values, *required: _Attribute) -> Failure:
    name, column, _ = next(attribute for attribute in required if not row[attribute.at])
    return refusals.missing_attribute(column, name)


def _refuse_unfit(row: Values, attributes: Iterable[_Attribute]) -> Failure:
    unfit = (attribute for attribute in attributes if not _is_fit(row[attribute.at] or b""))
    name, column, _ = next(unfit)
    return refusals.bad_attribute(column, name)
