"""What the sink's verdicts add to the counters: by batch, so that a record costs a fraction of a microsecond."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import cast

from cdc_relay.counters import Counters, Survey
from cdc_relay.dispatch.survey import survey
from cdc_relay.model import Ticket
from cdc_relay.parking.entry import Claim
from cdc_relay.sinks.sink import Reports, Slip

__all__ = ["VerdictCounter", "split"]


class VerdictCounter:
    def __init__(self, counters: Counters, *, wall: Callable[[], float] = time.time) -> None:
        self._counters = counters
        self._wall = wall

    def count(self, reports: Reports, *, has_claims: bool) -> Counter[str]:
        """How many verdicts there are, by topic. `has_claims`: not all of them are tickets."""
        tickets, claims = split(reports.delivered, has_claims=has_claims)
        topics: Counter[str] = Counter()
        if tickets:
            self._count_tickets(tickets, topics)
        for claim in claims:
            topics[claim.topic] += 1
            self._counters.of(claim.outbox, claim.topic).published += 1
        for slip, record, *_ in reports.failed:
            topics[record.topic] += 1
            self._counters.of(label_of(slip), record.topic).refused += 1
        return topics

    def _count_tickets(self, tickets: list[Ticket], topics: Counter[str]) -> None:
        found = survey(tickets)
        for (origin, topic), count in found.series.items():
            topics[topic] += count
            self._counters.of(origin.label, topic).published += count
        self._observe(tickets, found)

    def _observe(self, tickets: list[Ticket], found: Survey) -> None:
        """A message outside transactions has no commit time: how late it is nobody knows."""
        now_us = int(self._wall() * 1e6)
        for origin, span in found.spans.items():
            if span.earliest_us and self._counters.latency_of(origin.label).add_all(span, now_us):
                continue
            mine = (each.transaction.commit_time_us for each in tickets if each.origin is origin)
            if times := [each for each in mine if each]:
                self._counters.latency_of(origin.label).add(times, now_us)


def label_of(slip: Slip) -> str:
    return slip.outbox if isinstance(slip, Claim) else slip.origin.label


def split(slips: list[Slip], *, has_claims: bool) -> tuple[list[Ticket], list[Claim]]:
    if not has_claims:
        return cast("list[Ticket]", slips), []
    return [each for each in slips if isinstance(each, Ticket)], [each for each in slips if isinstance(each, Claim)]
