"""An event as its producer has it. Checked when it is emitted, before any statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from .ids import uuid7
from .json_text import JsonInput

__all__ = ["Event"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What happened, to what, and what a consumer shall know of it."""

    key: str  # the record's key: events of one key stay in order
    type: str  # what happened: OrderPlaced
    payload: JsonInput | None = field(
        repr=False
    )  # what JSON can say, or JSON as str or bytes; None is a record without a value
    aggregatetype: str | None = None  # names the topic on the default route; needed where the outbox has the column
    headers: Mapping[str, object] | None = field(default=None, repr=False)  # of the record; strings, numbers, None
    correlation_id: str | None = None
    scheduled_at: datetime | None = None  # not before this moment; with a zone
    extra: Mapping[str, object] = field(default_factory=dict, repr=False)  # further columns, as SQL spells them
    id: UUID = field(default_factory=uuid7)  # consumers deduplicate by it
