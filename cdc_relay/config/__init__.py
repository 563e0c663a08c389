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
    RetentionConfig,
    RetryConfig,
    RouteConfig,
    SinkConfig,
    SourceConfig,
    TopicConfig,
    WindowConfig,
)
from cdc_relay.config.names import TableName, quote_identifier
from cdc_relay.config.places import find_warnings, places_of_columns
from cdc_relay.config.policies import policy_of, retry_of
from cdc_relay.config.schema import json_schema
from cdc_relay.config.secrets import hide
from cdc_relay.config.topic_settings import TopicSettings, settings_of

__all__ = [
    "ColumnsConfig",
    "DeliveryConfig",
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
    "TableName",
    "TopicConfig",
    "TopicSettings",
    "WindowConfig",
    "find_warnings",
    "hide",
    "json_schema",
    "load",
    "places_of_columns",
    "policy_of",
    "quote_identifier",
    "retry_of",
    "settings_of",
]
