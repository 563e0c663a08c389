"""A batch of acknowledged tickets looked over at once, compiled where that can be had: 0.3 us less per record."""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING

from cdc_relay.counters import Span, Survey
from cdc_relay.delivery.gates import Position
from cdc_relay.model import Origin, Ticket
from cdc_relay.native import is_native

__all__ = ["find_placed", "find_placed_in_python", "survey", "survey_in_python"]

_series_of = itemgetter(Ticket._fields.index("origin"), Ticket._fields.index("topic"))  # in C: 70 ns


def survey_in_python(tickets: list[Ticket]) -> Survey:
    times: dict[Origin, list[int]] = {}
    for ticket in tickets:
        times.setdefault(ticket.origin, []).append(ticket.transaction.commit_time_us)
    spans = {origin: Span(len(each), min(each), max(each), sum(each)) for origin, each in times.items()}
    return Survey(Counter(map(_series_of, tickets)), spans)


def find_placed_in_python(tickets: list[Ticket], positions: set[Position]) -> list[Ticket]:
    """Those at one of these positions. By transactions first: few have one of them, and a position is a call."""
    lsns = {lsn for lsn, _ in positions}
    return [each for each in tickets if each.transaction.commit_lsn in lsns and each.position in positions]


if TYPE_CHECKING or not is_native:
    find_placed, survey = find_placed_in_python, survey_in_python
else:
    from cdc_relay.native.reports import find_placed, survey
