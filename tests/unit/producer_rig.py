"""An event that is fine, for tests that spoil one thing of it, and a way to see what would be written."""

from __future__ import annotations

import json
from typing import Any

from cdc_relay.outbox import Event, Outbox
from cdc_relay.outbox.rows import to_row
from cdc_relay.outbox.statements import Spelling, Statement, write

__all__ = ["event", "payload_of", "row_of", "statements"]


def event(**changed: Any) -> Event:
    given: dict[str, Any] = {"aggregatetype": "order", "key": "k", "type": "T", "payload": {"n": 1}}
    return Event(**given | changed)


def row_of(**changed: Any) -> dict[str, object]:
    return to_row(event(**changed), Outbox())


def payload_of(value: object) -> Any:
    """As a consumer reads it."""
    return json.loads(str(row_of(payload=value)["payload"]))


def statements(*events: Event, outbox: Outbox | None = None, numbered: bool = False) -> list[Statement]:
    return write(events, outbox or Outbox(), Spelling(numbered=numbered, native_times=numbered))
