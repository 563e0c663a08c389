"""The configuration as frozen models: every key, its default and its reason. Reads no file and no environment.

Where a YAML key and its attribute differ (`drain` is `drain_seconds`), the YAML spelling is the alias; Python code
uses attribute names. Every description ends up in docs/configuration.md and in the JSON Schema.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from cdc_relay.config.address import split_address
from cdc_relay.config.dsn import has_password
from cdc_relay.config.fields import (
    Bytes,
    Column,
    Count,
    Dsn,
    KafkaProperties,
    Listen,
    Publication,
    Seconds,
    Secret,
    SlotName,
    Table,
    Within,
    fail,
)
from cdc_relay.config.units import format_count, format_duration, format_size

__all__ = [
    "ColumnsConfig",
    "DeliveryConfig",
    "HttpConfig",
    "OutboxConfig",
    "RelayConfig",
    "SinkConfig",
    "SourceConfig",
    "WindowConfig",
]

_MIB = 1 << 20
_HOUR_SECONDS = 3600.0


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, hide_input_in_errors=True)


class SourceConfig(_Section):
    """Where rows come from: one replication slot of one database."""

    dsn: Dsn = Field(
        repr=False,
        description="libpq connection string, URL or key=value: TLS, service files, passfile and several hosts work "
        "as in psql, but for a service file's connect_timeout (set it here, or PGCONNECT_TIMEOUT; default 10 s). "
        "Keep the password out of the file: `${ENV_VAR}`, a passfile, or source.password.",
    )
    password: Secret = Field(
        default=None,
        description="Password beside the connection string, so that it needs no percent-encoding; "
        "usually `${file:/run/secrets/…}` or `${ENV_VAR}`.",
    )
    slot: SlotName = Field(
        description="Replication slot to read; it is the only cursor. One process reads it at a time."
    )
    publication: Publication = Field(description="Publication that names the outbox tables; read by the slot.")
    wal_sender_timeout_seconds: Annotated[Seconds, AfterValidator(Within(1.0, _HOUR_SECONDS, format_duration))] = Field(
        default=10.0,
        validation_alias="wal_sender_timeout",
        serialization_alias="wal_sender_timeout",
        description="Set for our session only. When this host dies, Postgres frees the slot for another process after "
        "this long; a line that is silent for half of it is given up.",
    )

    @model_validator(mode="after")
    def _one_password(self) -> SourceConfig:
        if self.password is not None and has_password(self.dsn):
            fail([(("password",), "source.dsn has a password too; remove one of the two")])
        return self


class SinkConfig(_Section):
    """Where records go."""

    kafka: KafkaProperties = Field(
        repr=False,
        description="librdkafka's own property names, passed through; `bootstrap.servers` is required. The relay owns "
        "the properties that its promises rest on and refuses a weaker setting (see below).",
    )


class ColumnsConfig(_Section):
    """Which columns of the outbox carry what; Debezium's names are the defaults."""

    id: Column = Field(default="id", description="Event id; becomes the header `id`, for consumers that deduplicate.")
    key: Column = Field(
        default="aggregateid", description="Record key: records of one key stay in order. NULL gives a null key."
    )
    type: Column = Field(
        default="type", description="Event type; the column must exist, but no record carries it in this version."
    )
    payload: Column = Field(
        default="payload", description="Record value as Postgres prints it; bytea gives its bytes, NULL a null value."
    )


class OutboxConfig(_Section):
    """One outbox table; its rows go to the topic `outbox.event.{aggregatetype}`."""

    table: Table = Field(
        description="`schema.table`; without a schema it is in public. Unquoted names fold to lower case as in SQL: "
        '`public."Order.Outbox"`.'
    )
    columns: ColumnsConfig = Field(default_factory=ColumnsConfig)


class WindowConfig(_Section):
    """How much may be read from Postgres and not yet acknowledged by Kafka: the bound of the relay's memory."""

    records: Annotated[Count, AfterValidator(Within(1, 10_000_000, format_count))] = Field(
        default=20_000, description="Open records; bounds the bookkeeping of many small rows."
    )
    bytes: Annotated[Bytes, AfterValidator(Within(1, 64 << 30, format_size))] = Field(
        default=32 * _MIB,
        description="Open keys, values and headers. Bounds memory: base + 1.25 times this + 3 times the largest row; "
        "one record larger than the window still passes.",
    )


class DeliveryConfig(_Section):
    """How records are handed out and waited for."""

    window: WindowConfig = Field(default_factory=WindowConfig)
    drain_seconds: Annotated[Seconds, AfterValidator(Within(0.0, _HOUR_SECONDS, format_duration))] = Field(
        default=30.0,
        validation_alias="drain",
        serialization_alias="drain",
        description="How long a stop waits for open records. Keep it below the time after which your orchestrator "
        "kills; what is open then is delivered again, not lost.",
    )
    release_line_after_seconds: Annotated[Seconds, AfterValidator(Within(0.1, _HOUR_SECONDS, format_duration))] = Field(
        default=60.0,
        validation_alias="release_line_after",
        serialization_alias="release_line_after",
        description="How long to hold with a full window before the replication line is closed until Kafka answers; "
        "a reader that holds the line keeps Postgres from shutting down.",
    )


class HttpConfig(_Section):
    """/livez, /readyz and /metrics."""

    listen: Listen = Field(
        default="127.0.0.1:9464",
        description="Address to serve on, IPv6 in brackets; only this machine by default, because it has no "
        "authentication. `off` serves nothing.",
    )

    @property
    def address(self) -> tuple[str, int] | None:
        return split_address(self.listen)


def _no_table_twice(outboxes: tuple[OutboxConfig, ...]) -> tuple[OutboxConfig, ...]:
    if not outboxes:
        raise ValueError("at least one outbox is needed: - table: public.outbox")
    tables = [outbox.table for outbox in outboxes]
    repeated = [place for place, table in enumerate(tables) if table in tables[:place]]
    fail(((place, "table"), f"the same table as outboxes[{tables.index(tables[place])}]") for place in repeated)
    return outboxes


class RelayConfig(_Section):
    """The whole file."""

    source: SourceConfig
    sink: SinkConfig
    outboxes: Annotated[tuple[OutboxConfig, ...], AfterValidator(_no_table_twice)] = Field(
        description="The outbox tables, at least one."
    )
    delivery: DeliveryConfig = Field(default_factory=DeliveryConfig)
    http: HttpConfig = Field(default_factory=HttpConfig)
