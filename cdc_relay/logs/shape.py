"""The shape of a line: which field comes first, what every line has, and what is said of an exception."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from structlog.typing import EventDict, WrappedLogger

from cdc_relay.errors import RelayError
from cdc_relay.logs.redaction import redaction

__all__ = ["arrange", "describe", "hide_secrets", "render_json", "say_always", "tell_error", "tell_trace"]

_FIRST = ("timestamp", "level", "event")
_FRAME_COUNT = 8
_always: dict[str, object] = {}  # threads share it: a context variable would be empty on each new one


def say_always(**fields: object) -> None:
    """From now on every JSON line has these."""
    _always.update(fields)


def tell_error(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """An exception as one line: its type, and where."""
    exc = _exception_of(event)
    return event if exc is None else {**event, **describe(exc)}


def tell_trace(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """With the frames as Python shows them; still without the text of an exception that may quote a row."""
    exc = _exception_of(event)
    if exc is None:
        return event
    parts = [*traceback.format_tb(exc.__traceback__), _name(exc)]
    return {**event, **describe(exc), "exception": "".join(parts)}


def describe(exc: BaseException) -> dict[str, str]:
    """`at` has the innermost frame first. The text only of errors that never have a row's values."""
    said = {"error": " from ".join(type(each).__name__ for each in _causes(exc)), "at": _places(exc.__traceback__)}
    return {**said, "reason": str(exc)} if isinstance(exc, RelayError | OSError) else said


def hide_secrets(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    return {name: value if name in _FIRST else redaction.clean_all(value) for name, value in event.items()}


def arrange(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """What is not known is left out."""
    first = {name: event[name] for name in _FIRST}
    return first | {name: value for name, value in event.items() if name not in _FIRST and value is not None}


def render_json(logger: WrappedLogger, method: str, event: EventDict) -> str:
    first = {name: event[name] for name in _FIRST}
    return json.dumps({**first, **_always, **event}, default=repr)


def _exception_of(event: EventDict) -> BaseException | None:
    """Takes it out of the event."""
    given = event.pop("exc_info", None)
    if isinstance(given, BaseException):
        return given
    if given is True:
        return sys.exc_info()[1]
    return given[1] if isinstance(given, tuple) else None


def _causes(exc: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = exc
    for _ in range(3):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__


def _places(trace: TracebackType | None) -> str:
    frames = traceback.extract_tb(trace)[::-1][:_FRAME_COUNT]
    return " < ".join(f"{'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno}" for frame in frames) or "nowhere"


def _name(exc: BaseException) -> str:
    return f"{type(exc).__module__}.{type(exc).__qualname__}"
