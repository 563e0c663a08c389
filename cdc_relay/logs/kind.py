"""When two lines are of one kind. Pure."""

from __future__ import annotations

import re

from structlog.typing import EventDict

__all__ = ["kind_of"]

_NUMBER = re.compile(r"\d+")
_UNTYPICAL = ("timestamp", "repeated")


def kind_of(event: EventDict) -> tuple[str, ...]:
    """A failure is of its code's kind, whichever record it happened to; any other line only of its very own text."""
    name = str(event["event"])
    if "code" not in event:
        fields = sorted((key, repr(value)) for key, value in event.items() if key not in _UNTYPICAL)
        return name, repr(fields)
    place = str(event.get("outbox")), str(event.get("topic"))
    return name, *place, str(event["code"]), _NUMBER.sub("N", str(event.get("reason")))
