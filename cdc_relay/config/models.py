"""The configuration as frozen models: every key, its default and its reason. Reads no file and no environment.

Where a YAML key and its attribute differ (`drain` is `drain_seconds`), the YAML spelling is the alias; Python code
uses attribute names. Every description ends up in docs/configuration.md and in the JSON Schema.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from cdc_relay.config.address import split_address
from cdc_relay.config.delivery import DeliveryConfig, WindowConfig
from cdc_relay.config.dsn import has_password
from cdc_relay.config.fields import (
    Column,
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
from cdc_relay.config.parking import LimitConfig, ParkingConfig
from cdc_relay.config.policies import find_policy_problems
from cdc_relay.config.retry import DeliveryRetryConfig, RetryConfig
from cdc_relay.config.routes import RouteConfig, check_routes, default_routes
from cdc_relay.config.section import Section
from cdc_relay.config.units import format_duration

__all__ = [
    "ColumnsConfig",
    "DeliveryConfig",
    "DeliveryRetryConfig",
    "HttpConfig",
    "LimitConfig",
    "OutboxConfig",
    "ParkingConfig",
    "RelayConfig",
    "RetryConfig",
    "RouteConfig",
    "SinkConfig",
    "SourceConfig",
    "WindowConfig",
]

_HOUR_SECONDS = 3600.0


class SourceConfig(Section):
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


class SinkConfig(Section):
    """Where records go."""

    kafka: KafkaProperties = Field(
        repr=False,
        description="librdkafka's own property names, passed through; `bootstrap.servers` is required. The relay owns "
        "the properties that its promises rest on and refuses a weaker setting (see below).",
    )


class ColumnsConfig(Section):
    """Which columns of the outbox carry what; Debezium's names are the defaults."""

    id: Column = Field(default="id", description="Event id; becomes the header `id`, for consumers that deduplicate.")
    key: Column = Field(
        default="aggregateid", description="Record key: records of one key stay in order. NULL gives a null key."
    )
    type: Column = Field(
        default="type",
        description="Event type; the column must exist. Kept with a parked record; no record carries it.",
    )
    payload: Column = Field(
        default="payload", description="Record value as Postgres prints it; bytea gives its bytes, NULL a null value."
    )
    correlation_id: Column | None = Field(
        default=None, description="Correlation id; kept with a parked record. No record carries it in this version."
    )
    tenant: Column | None = Field(
        default=None, description="Tenant; kept with a parked record. No record carries it in this version."
    )
    scheduled_at: Column | None = Field(
        default=None,
        description="When the record is due, a timestamptz or a timestamp in UTC: in the future it waits in the lot "
        "until then, and can be cancelled. NULL or past: at once. What is no point in time is parked as dead.",
    )


class OutboxConfig(Section):
    """One outbox table and where its rows go."""

    table: Table = Field(
        description="`schema.table`; without a schema it is in public. Unquoted names fold to lower case as in SQL: "
        '`public."Order.Outbox"`.'
    )
    columns: ColumnsConfig = Field(default_factory=ColumnsConfig)
    routes: Annotated[tuple[RouteConfig, ...], AfterValidator(check_routes)] = Field(
        default_factory=default_routes,
        description="Where rows go; the first that matches. Left out: every row to `outbox.event.{aggregatetype}`.",
    )


class HttpConfig(Section):
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


class RelayConfig(Section):
    """The whole file."""

    source: SourceConfig
    sink: SinkConfig
    outboxes: Annotated[tuple[OutboxConfig, ...], AfterValidator(_no_table_twice)] = Field(
        description="The outbox tables, at least one."
    )
    delivery: DeliveryConfig = Field(default_factory=DeliveryConfig)
    parking: ParkingConfig = Field(default_factory=ParkingConfig)
    http: HttpConfig = Field(default_factory=HttpConfig)

    @model_validator(mode="after")
    def _policies_hold(self) -> RelayConfig:
        fail(find_policy_problems(self.delivery, [outbox.routes for outbox in self.outboxes]))
        return self
