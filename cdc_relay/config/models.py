"""The configuration as frozen models: every key, its default and its reason. Reads no file and no environment.

Where a YAML key and its attribute differ (`drain` is `drain_seconds`), the YAML spelling is the alias; Python code
uses attribute names. Every description ends up in docs/configuration.md and in the JSON Schema.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, PrivateAttr, model_validator

from cdc_relay.config.address import split_address
from cdc_relay.config.delivery import DeliveryConfig, WindowConfig
from cdc_relay.config.dsn import has_password
from cdc_relay.config.fields import (
    Dsn,
    Listen,
    Publication,
    Seconds,
    Secret,
    Service,
    SlotName,
    Topic,
    Within,
    fail,
)
from cdc_relay.config.outbox import ColumnsConfig, OutboxConfig, check_outboxes
from cdc_relay.config.parking import LimitConfig, ParkingConfig
from cdc_relay.config.places import Places
from cdc_relay.config.policies import find_policy_problems
from cdc_relay.config.retention import RetentionConfig
from cdc_relay.config.retry import DeliveryRetryConfig, RetryConfig
from cdc_relay.config.routes import RouteConfig
from cdc_relay.config.section import Section
from cdc_relay.config.sink import SinkConfig
from cdc_relay.config.topic_settings import TopicConfig, find_topic_problems
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
    "RetentionConfig",
    "RetryConfig",
    "RouteConfig",
    "SinkConfig",
    "SourceConfig",
    "TopicConfig",
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


class HttpConfig(Section):
    """/livez, /readyz, /metrics and /status."""

    listen: Listen = Field(
        default="127.0.0.1:9464",
        description="Address to serve on, IPv6 in brackets; only this machine by default, because it has no "
        "authentication. `off` serves nothing.",
    )

    @property
    def address(self) -> tuple[str, int] | None:
        return split_address(self.listen)


class RelayConfig(Section):
    """The whole file."""

    service: Service | None = Field(
        default=None,
        description="Name of this relay in metrics (the label `service`) and logs; the same for all relays of a slot. "
        "Left out: the slot's name.",
    )
    source: SourceConfig
    sink: SinkConfig
    outboxes: Annotated[tuple[OutboxConfig, ...], AfterValidator(check_outboxes)] = Field(
        description="The outboxes, at least one: tables, or prefixes of logical messages."
    )
    delivery: DeliveryConfig = Field(default_factory=DeliveryConfig)
    parking: ParkingConfig = Field(default_factory=ParkingConfig)
    retention: RetentionConfig = Field(default_factory=RetentionConfig)
    http: HttpConfig = Field(default_factory=HttpConfig)
    topic_defaults: TopicConfig = Field(default_factory=TopicConfig)
    topics: dict[Topic, TopicConfig] = Field(
        default_factory=dict,
        description="Topics that `cdc-relay topics plan` and `apply` look after, by name; `{}` where topic_defaults "
        "say it all. `run` publishes to others as well, and makes none.",
    )

    _places: Places = PrivateAttr(default_factory=Places)

    @property
    def service_name(self) -> str:
        return self.service or self.source.slot

    @property
    def places(self) -> Places:
        return self._places

    def remember(self, places: Places) -> RelayConfig:
        self._places = places
        return self

    @model_validator(mode="after")
    def _policies_hold(self) -> RelayConfig:
        of_policies = find_policy_problems(self.delivery, [outbox.routes for outbox in self.outboxes])
        fail([*of_policies, *find_topic_problems(self.topics, self.topic_defaults)])
        return self
