"""What a run would make of the rows: how many go to which topic, are parked or dropped, and why. Publishes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cdc_relay.delivery.window import Window
from cdc_relay.model import Record, Scheduled, Unroutable
from cdc_relay.replay.batches import Batches
from cdc_relay.replay.page import Page
from cdc_relay.replay.position import Position
from cdc_relay.replay.reader import PageReader
from cdc_relay.routing.outbox import Outbox
from cdc_relay.routing.router import Router

__all__ = ["Preview", "preview_rows"]

_SHOWN_IDS = 5


@dataclass(slots=True)
class Preview:
    read: int = 0
    topics: Counter[str] = field(default_factory=Counter)
    scheduled: int = 0
    parked: Counter[str] = field(default_factory=Counter)  # by reason
    dropped: int = 0
    missing_ids: list[str] = field(default_factory=list)
    samples: dict[str, list[str]] = field(default_factory=dict)  # by topic: event ids of the first rows

    def as_json(self) -> dict[str, Any]:
        return {
            "read": self.read,
            "topics": dict(self.topics),
            "scheduled": self.scheduled,
            "parked": dict(self.parked),
            "dropped": self.dropped,
            "missing_ids": self.missing_ids,
            "samples": self.samples,
        }

    def as_text(self) -> str:
        lines = [f"{self.read:,} rows; nothing was published"]
        for topic, count in self.topics.most_common():
            lines.append(f"  {count:,} to {topic} (ids {', '.join(self.samples[topic])}{', …' * (count > _SHOWN_IDS)})")
        lines += [f"  {self.scheduled:,} are not due yet: parked until then"] if self.scheduled else []
        lines += [f"  {count:,} would be parked: {reason}" for reason, count in self.parked.most_common()]
        lines += [f"  {self.dropped:,} dropped by a route"] if self.dropped else []
        lines += [f"  {len(self.missing_ids):,} ids are not among the rows"] if self.missing_ids else []
        return "\n".join(lines)


def preview_rows(reader: PageReader, outboxes: Sequence[Outbox]) -> Preview:
    preview, position = Preview(), Position()
    router = Router(outboxes)
    while not reader.is_over(position):
        page = reader.read(position)
        _take(preview, page, router)
        position = page.end
    return preview


def _take(preview: Preview, page: Page, router: Router) -> None:
    window = Window(record_limit=1, byte_limit=1)  # nobody waits for room here
    batches = Batches(router, window, run="", headers=[], position=page.end)
    batch = batches.begin(page.end)
    for row in page.rows:
        outcome = batches.take(page, row, batch)
        if outcome is None:
            continue
        routed, ticket = outcome
        if isinstance(routed, Record):
            _count(preview, routed.topic, ticket.event[0])
        elif isinstance(routed, Scheduled):
            preview.scheduled += 1
        elif isinstance(routed, Unroutable):
            preview.parked[routed.failure.reason] += 1
    preview.read += len(page.rows)
    preview.dropped += batches.dropped_count
    preview.missing_ids += page.missing_ids


def _count(preview: Preview, topic: str, event_id: bytes | None) -> None:
    preview.topics[topic] += 1
    shown = preview.samples.setdefault(topic, [])
    if len(shown) < _SHOWN_IDS:
        shown.append("NULL" if event_id is None else event_id.decode("utf-8", "replace"))
