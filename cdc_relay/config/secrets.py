"""What may be shown of a configuration: its YAML spelling with every secret as ***, and what those secrets are.

Loads and prints nothing.
"""

from __future__ import annotations

import re
from typing import Any

from cdc_relay.config.dsn import HIDDEN, hide_dsn, secrets_in
from cdc_relay.config.models import RelayConfig
from cdc_relay.config.substitution import escape

__all__ = ["hide", "is_secret", "secrets_of"]

_SECRET = re.compile(r"password|passphrase|secret|token|\.pem|jaas|oauthbearer\.config", re.IGNORECASE)


def is_secret(name: str) -> bool:
    return _SECRET.search(name) is not None


def secrets_of(config: RelayConfig) -> list[str]:
    """What must not be in any text, as it is used: decoded, without its name."""
    source, parking, kafka = config.source, config.parking, config.sink.kafka or {}
    dsns = [source.dsn] if parking.dsn is None else [source.dsn, parking.dsn]
    beside = [each.get_secret_value() for each in (source.password, parking.password) if each is not None]
    properties = [str(value) for name, value in kafka.items() if is_secret(name)]
    return [secret for dsn in dsns for secret in secrets_in(dsn)] + beside + properties


def hide(config: RelayConfig) -> dict[str, Any]:
    """The effective configuration as a file would spell it, defaults filled in."""
    shown = config.model_dump(by_alias=True, mode="json", exclude_none=True)
    shown["source"]["dsn"] = hide_dsn(config.source.dsn)
    if config.parking.dsn is not None:
        shown["parking"]["dsn"] = hide_dsn(config.parking.dsn)
    if (kafka := config.sink.kafka) is not None:
        shown["sink"]["kafka"] = {name: HIDDEN if is_secret(name) else value for name, value in kafka.items()}
    escaped: dict[str, Any] = _escape(shown)
    return escaped


def _escape(value: Any) -> Any:
    match value:
        case dict():
            return {key: _escape(below) for key, below in value.items()}
        case list():
            return [_escape(below) for below in value]
        case str():
            return escape(value)
        case _:
            return value
