"""From the configuration to what the adapters take: what is wanted of Postgres, and how to reach it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pydantic import SecretStr

from cdc_relay.config import (
    OutboxConfig,
    RelayConfig,
    SourceConfig,
    places_of_columns,
    policy_of,
    quote_identifier,
    retry_of,
)
from cdc_relay.model import Policy
from cdc_relay.routing.outbox import Outbox, Route
from cdc_relay.routing.templates import Template
from cdc_relay.sources.conninfo import catalog_conninfo, replication_conninfo
from cdc_relay.sources.preflight import Wanted

__all__ = [
    "conninfo_of",
    "parking_conninfo_of",
    "policies_of",
    "replication_conninfo_of",
    "silence_seconds_of",
    "wanted_of",
]

_NOWHERE = Template(("",))


def wanted_of(config: RelayConfig) -> Wanted:
    source = config.source
    return Wanted(source.slot, source.publication, tuple(_outboxes(config)), quote_identifier(source.publication))


def policies_of(config: RelayConfig) -> dict[str, Policy]:
    """By route name, for parked records that have only the name; "" is for rows that no route took."""
    outboxes = list(_outboxes(config))
    named = {route.policy.route: route.policy for outbox in outboxes for route in outbox.routes}
    return named | {outbox.unrouted.route: outbox.unrouted for outbox in outboxes}


def silence_seconds_of(source: SourceConfig) -> float:
    """A line that is silent for half of wal_sender_timeout is taken for dead, before the server lets the slot go."""
    return source.wal_sender_timeout_seconds / 2


def conninfo_of(config: RelayConfig, *, use: str = "catalog") -> str:
    source = config.source
    return _catalog_conninfo(source, dsn=source.dsn, password=source.password, use=use)


def parking_conninfo_of(config: RelayConfig, *, use: str = "lot") -> str:
    """Of the database that has the lot: the source's, unless it has one of its own."""
    parking, source = config.parking, config.source
    dsn, password = (source.dsn, source.password) if parking.dsn is None else (parking.dsn, parking.password)
    return _catalog_conninfo(source, dsn=dsn, password=password, use=use)


def replication_conninfo_of(config: RelayConfig) -> str:
    source = config.source
    silence_seconds = silence_seconds_of(source)
    return replication_conninfo(
        source.dsn, password=_reveal(source.password), slot=source.slot, silence_seconds=silence_seconds
    )


def _catalog_conninfo(source: SourceConfig, *, dsn: str, password: SecretStr | None, use: str) -> str:
    return catalog_conninfo(
        dsn, password=_reveal(password), slot=source.slot, silence_seconds=silence_seconds_of(source), use=use
    )


def _reveal(password: SecretStr | None) -> str | None:
    return password.get_secret_value() if password is not None else None


def _outboxes(config: RelayConfig) -> Iterator[Outbox]:
    named: dict[str, Policy] = {}
    unrouted = Policy("", retry=retry_of(config.delivery))
    for place, outbox in enumerate(config.outboxes):
        routes = tuple(_routes(config, outbox, named))
        named |= {route.policy.route: route.policy for route in routes}
        columns = places_of_columns(config.places, outbox, place)
        yield replace(_outbox(outbox, routes=routes, unrouted=unrouted), places=tuple(columns.items()))


def _routes(config: RelayConfig, outbox: OutboxConfig, named: dict[str, Policy]) -> Iterator[Route]:
    """A name is one route's in its outbox, and one policy's in the whole file: parked records have only the name."""
    taken = {route.name for route in outbox.routes if route.name is not None}
    for route in outbox.routes:
        stem = route.name or ("drop" if route.topic is None else str(route.topic))
        taken.discard(route.name)
        policy = policy_of(route, config.delivery, name=stem)
        number = 1
        while policy.route in taken or named.get(policy.route, policy) != policy:
            number += 1
            policy = policy_of(route, config.delivery, name=f"{stem} ({number})")
        taken.add(policy.route)
        yield Route(
            route.topic or _NOWHERE,
            policy,
            tuple(route.when.items()),
            key=route.key,
            partition=route.partition,
            timestamp=route.timestamp,
            headers=tuple(route.headers.items()),
            envelope=route.envelope,
            drop=route.drop,
        )


def _outbox(outbox: OutboxConfig, *, routes: tuple[Route, ...], unrouted: Policy) -> Outbox:
    table, columns = outbox.table, outbox.columns
    return Outbox(
        schema="" if table is None else table.schema,
        name="" if table is None else table.name,
        label=outbox.label,
        id_column=columns.id,
        key_column=columns.key,
        type_column=columns.type,
        payload_column=columns.payload,
        correlation_column=columns.correlation_id,
        tenant_column=columns.tenant,
        schedule_column=columns.scheduled_at,
        causation_column=columns.causation_id,
        timestamp_column=columns.timestamp,
        version_column=columns.schema_version,
        partition_column=columns.partition,
        headers_column=columns.headers,
        routes=routes,
        unrouted=unrouted,
        message_prefix=outbox.message_prefix,
    )
