"""Which routes make CloudEvents of the usual kind, and their compiled build. Decides about no row: that does the build.

Usual: binary mode, a payload that is sent as it is, a column for the key, no headers, partition or time of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from cdc_relay.native import is_native
from cdc_relay.routing.envelopes.cloudevents import CloudEvents
from cdc_relay.routing.outbox import Outbox, Route
from cdc_relay.routing.places import Places
from cdc_relay.routing.templates import Template
from cdc_relay.routing.values import BYTEA_OID, iso_utc

__all__ = ["make_event_build"]

Build = TypeVar("Build", bound=Callable[..., object])


def make_event_build(full: Build, route: Route, outbox: Outbox, places: Places) -> Build | None:
    """None where there is none. `full` stays the reference, and is asked for every row that is not usual."""
    envelope, payload = route.envelope, places.column(outbox.payload_column)
    key = route.key or Template.of(outbox.key_column)
    if not is_native or not isinstance(envelope, CloudEvents) or envelope.mode != "binary":
        return None
    if payload.type_oid == BYTEA_OID or _has_parts(route, outbox) or not _is_column(key):
        return None
    from cdc_relay.native.events import EventBuild

    found, more, source, names = envelope.map_binary(outbox, places.columns)
    columns = (found["id"].at, found["type"].at, places.indexes[key.columns[0]], places.indexes[payload.name])
    content_type = envelope.find_content_type(payload.type_oid).encode()
    build = EventBuild(
        full,
        policy=route.policy,
        columns=columns,
        more=more,
        event=tuple(places.indexes[name] for name in outbox.event_columns),
        names=names,
        source=source,
        content_type=content_type,
        iso_utc=iso_utc,
    )
    return cast(Build, build)


def _has_parts(route: Route, outbox: Outbox) -> bool:
    of_route = route.headers or route.partition or route.timestamp
    return any((of_route, outbox.headers_column, outbox.partition_column, outbox.timestamp_column))


def _is_column(key: Template) -> bool:
    return key.literals == ("", "") and not key.fields[0].path
