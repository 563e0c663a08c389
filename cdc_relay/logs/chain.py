"""How a line comes to be: what each step of structlog's chain does to it, and in which order."""

from __future__ import annotations

import atexit
import logging
import sys

import structlog
from structlog.typing import EventDict, Processor

from cdc_relay.logs.collapse import Collapse
from cdc_relay.logs.output import LineOutput
from cdc_relay.logs.shape import arrange, hide_secrets, render_json, tell_error, tell_trace

__all__ = ["configure_logs", "default_format", "flush_logs", "says_debug"]


class _Chain:
    """The one of this process."""

    collapse: Collapse | None = None
    is_debug = False


def default_format() -> str:
    return "console" if _is_terminal() else "json"


def configure_logs(log_format: str, level: str) -> None:
    """Lines on stderr: for people on a terminal, JSON for machines."""
    flush_logs()
    end, output = _end(log_format), LineOutput(sys.stderr)
    _Chain.is_debug = level == "debug"
    _Chain.collapse = None if _Chain.is_debug else Collapse(lambda event: _say(end, event, output))
    structlog.configure(
        processors=[*_begin(), *([_Chain.collapse] if _Chain.collapse else []), *end],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=lambda *args: output,
        cache_logger_on_first_use=True,
    )


def says_debug() -> bool:
    """For what costs something per record: asked once, at the start."""
    return _Chain.is_debug


@atexit.register
def flush_logs() -> None:
    """Say what was held back."""
    if _Chain.collapse is not None:
        _Chain.collapse.flush()


def _begin() -> list[Processor]:
    error = tell_trace if _Chain.is_debug else tell_error
    return [structlog.processors.add_log_level, structlog.processors.TimeStamper(fmt="iso", utc=True), error]


def _end(log_format: str) -> list[Processor]:
    if log_format == "json":
        return [hide_secrets, arrange, render_json]
    return [hide_secrets, arrange, structlog.dev.ConsoleRenderer(colors=_is_terminal(), sort_keys=False)]


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _say(end: list[Processor], event: EventDict, output: LineOutput) -> None:
    """What was held back goes the rest of its way."""
    line: object = event
    for step in end:
        line = step(None, "", line)  # type: ignore[arg-type]  # an event until the last step
    output.say(str(line))
