"""Which routes make CloudEvents of the usual kind, and their compiled build. Decides about no row: that does the build.

Usual: a column for the key, no headers, partition or time of its own, and a payload that is sent as it is: in binary
mode all but bytea, in structured mode JSON that is said to be JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from cdc_relay.native import is_native
from cdc_relay.protocol.messages import Column
from cdc_relay.routing.envelopes.attributes import Mapped
from cdc_relay.routing.envelopes.cloudevents import STRUCTURED_TYPE, CloudEvents, is_json_type
from cdc_relay.routing.json_text import quote
from cdc_relay.routing.outbox import Outbox, Route
from cdc_relay.routing.places import Places
from cdc_relay.routing.templates import Template
from cdc_relay.routing.values import BYTEA_OID, JSON_OIDS, iso_utc

__all__ = ["make_event_build"]

Build = TypeVar("Build", bound=Callable[..., object])
# What a structured event says before its values: id, type, others that a row may have, time, sequence, data.
_Texts = tuple[bytes, bytes, list[bytes], bytes, bytes, bytes]


def make_event_build(full: Build, route: Route, outbox: Outbox, places: Places) -> Build | None:
    """None where there is none. `full` stays the reference, and is asked for every row that is not usual."""
    envelope, payload = route.envelope, places.column(outbox.payload_column)
    key = route.key or Template.of(outbox.key_column)
    if not is_native or not isinstance(envelope, CloudEvents) or not _is_sent_as_it_is(envelope, payload):
        return None
    if _has_parts(route, outbox) or not _is_column(key):
        return None
    from cdc_relay.native.events import BinaryEvents, StructuredEvents

    mapped = envelope.map_attributes(outbox, places.columns)
    found, more, source, names = mapped
    shared: dict[str, Any] = {
        "policy": route.policy,
        "columns": (found["id"].at, found["type"].at, places.indexes[key.columns[0]], places.indexes[payload.name]),
        "more": more,
        "event": tuple(places.indexes[name] for name in outbox.event_columns),
        "iso_utc": iso_utc,
    }
    content_type = envelope.find_content_type(payload.type_oid)
    if envelope.mode == "binary":
        return cast(Build, BinaryEvents(full, **shared, names=names, source=source, content_type=content_type.encode()))
    return cast(Build, StructuredEvents(full, **shared, texts=_texts(mapped, content_type), header=STRUCTURED_TYPE))


def _is_sent_as_it_is(envelope: CloudEvents, payload: Column) -> bool:
    if envelope.mode == "binary":
        return payload.type_oid != BYTEA_OID
    return payload.type_oid in JSON_OIDS and is_json_type(envelope.find_content_type(payload.type_oid))


def _texts(mapped: Mapped, content_type: str) -> _Texts:
    version, id_name, source, kind, *others = mapped.names
    time, sequence = (_before(name) for name in others)
    return (
        f'{{"{version}":"1.0","{id_name}":"'.encode(),
        f',"{source}":{quote(mapped.source.decode())},"{kind}":"'.encode(),
        [_before(name) for name, _ in mapped.more],
        time,
        sequence,
        f',"datacontenttype":{quote(content_type)},"data":'.encode(),
    )


def _before(name: str) -> bytes:
    return f',"{name}":"'.encode()


def _has_parts(route: Route, outbox: Outbox) -> bool:
    of_route = route.headers or route.partition or route.timestamp
    return any((of_route, outbox.headers_column, outbox.partition_column, outbox.timestamp_column))


def _is_column(key: Template) -> bool:
    return key.literals == ("", "") and not key.fields[0].path
