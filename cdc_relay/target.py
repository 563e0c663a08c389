"""From the configuration to what the adapters take: what is wanted of Postgres, and how to reach it. Pure."""

from __future__ import annotations

from cdc_relay.config import OutboxConfig, RelayConfig, SourceConfig, quote_identifier
from cdc_relay.routing.router import Outbox
from cdc_relay.sources.conninfo import catalog_conninfo, replication_conninfo
from cdc_relay.sources.preflight import Wanted

__all__ = ["conninfo_of", "replication_conninfo_of", "silence_seconds_of", "wanted_of"]


def wanted_of(config: RelayConfig) -> Wanted:
    source = config.source
    outboxes = tuple(_outbox(outbox) for outbox in config.outboxes)
    return Wanted(source.slot, source.publication, outboxes, quote_identifier(source.publication))


def silence_seconds_of(source: SourceConfig) -> float:
    """A line that is silent for half of wal_sender_timeout is taken for dead, before the server lets the slot go."""
    return source.wal_sender_timeout_seconds / 2


def conninfo_of(config: RelayConfig) -> str:
    source = config.source
    silence_seconds = silence_seconds_of(source)
    return catalog_conninfo(source.dsn, password=_password(source), slot=source.slot, silence_seconds=silence_seconds)


def replication_conninfo_of(config: RelayConfig) -> str:
    source = config.source
    silence_seconds = silence_seconds_of(source)
    return replication_conninfo(
        source.dsn, password=_password(source), slot=source.slot, silence_seconds=silence_seconds
    )


def _password(source: SourceConfig) -> str | None:
    return source.password.get_secret_value() if source.password is not None else None


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
