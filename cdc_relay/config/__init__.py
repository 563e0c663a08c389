"""The YAML file as one frozen RelayConfig: models, loader with line numbers, and what may be shown of it."""

from __future__ import annotations

from cdc_relay.config.loader import load
from cdc_relay.config.models import (
    ColumnsConfig,
    DeliveryConfig,
    HttpConfig,
    LimitConfig,
    OutboxConfig,
    ParkingConfig,
    RelayConfig,
    RetryConfig,
    RouteConfig,
    SinkConfig,
    SourceConfig,
    WindowConfig,
)
from cdc_relay.config.names import TableName, quote_identifier
from cdc_relay.config.policies import policy_of, retry_of
from cdc_relay.config.schema import json_schema
from cdc_relay.config.secrets import hide

__all__ = [
    "ColumnsConfig",
    "DeliveryConfig",
    "HttpConfig",
    "LimitConfig",
    "OutboxConfig",
    "ParkingConfig",
    "RelayConfig",
    "RetryConfig",
    "RouteConfig",
    "SinkConfig",
    "SourceConfig",
    "TableName",
    "WindowConfig",
    "hide",
    "json_schema",
    "load",
    "policy_of",
    "quote_identifier",
    "retry_of",
]
