"""From the configuration to what the adapters take: what is wanted of Postgres, and how to reach it. Pure."""

from __future__ import annotations

from cdc_relay.config import OutboxConfig, RelayConfig
from cdc_relay.routing.router import Outbox
from cdc_relay.sources.conninfo import catalog_conninfo
from cdc_relay.sources.preflight import Wanted

__all__ = ["conninfo_of", "wanted_of"]


def wanted_of(config: RelayConfig) -> Wanted:
    source = config.source
    return Wanted(source.slot, source.publication, tuple(_outbox(outbox) for outbox in config.outboxes))


def conninfo_of(config: RelayConfig) -> str:
    source = config.source
    password = source.password.get_secret_value() if source.password is not None else None
    silence_seconds = source.wal_sender_timeout_seconds
    return catalog_conninfo(source.dsn, password=password, slot=source.slot, silence_seconds=silence_seconds)


def _outbox(outbox: OutboxConfig) -> Outbox:
    table, columns = outbox.table, outbox.columns
    return Outbox(
        schema=table.schema,
        name=table.name,
        label=str(table),
        id_column=columns.id,
        key_column=columns.key,
        type_column=columns.type,
        payload_column=columns.payload,
    )
