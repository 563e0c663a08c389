"""From an error of a line to what an operator is told: away, or refused. The words are the command's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cdc_relay.errors import AwayError, RelayError, SourceError
from cdc_relay.sources.line import QueryError

__all__ = ["NO_RIGHT", "translated"]

NO_RIGHT = "42501"
_GOING_AWAY = ("57P", "08")  # classes: the server shuts down or ends the session; connection exceptions


@contextmanager
def translated(step: str, *, repeat: str, refuse: Callable[[QueryError], RelayError]) -> Iterator[None]:
    """`repeat` is what helps when the server was away; `refuse` makes the error of what it refused."""
    try:
        yield
    except SourceError as exc:
        if not isinstance(exc, QueryError) or exc.sqlstate.startswith(_GOING_AWAY):
            raise AwayError(f"{step}: {exc.message}", remedy=repeat) from exc
        raise refuse(exc) from exc
