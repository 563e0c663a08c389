"""What is said on stderr: one event per line, collapsed where it repeats itself, without secrets. Knows no record."""

from __future__ import annotations

import cdc_relay.logs.bare_structlog  # noqa: F401 - first, for its effect
from cdc_relay.logs.chain import configure_logs, default_format, flush_logs, says_debug
from cdc_relay.logs.redaction import learn_secrets, redact, redact_all
from cdc_relay.logs.shape import describe, say_always
from cdc_relay.logs.stray import DEFECT, catch_stray

__all__ = [
    "DEFECT",
    "catch_stray",
    "configure_logs",
    "default_format",
    "describe",
    "flush_logs",
    "learn_secrets",
    "redact",
    "redact_all",
    "say_always",
    "says_debug",
    "start_logs",
]


def start_logs(level: str = "info", log_format: str | None = None) -> None:
    """Of a command that runs for a while: its own lines, and whatever else would reach stderr."""
    configure_logs(log_format or default_format(), level)
    catch_stray(level)
