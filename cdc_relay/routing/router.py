"""Which outbox a relation is, and how its rows become records. Compiled once per relation, then only looked up.

Without routes of its own an outbox has Debezium's: topic `outbox.event.{aggregatetype}`, key, payload, header `id`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from cdc_relay.model import Columns, Record, Unroutable
from cdc_relay.protocol.messages import Column, Relation
from cdc_relay.routing import refusals
from cdc_relay.routing.destinations import Values
from cdc_relay.routing.outbox import DEFAULT_ROUTE, DEFAULT_TOPIC, UNROUTED, Outbox, Route
from cdc_relay.routing.plan import AnyPlan, IncompletePlan, Plan, TimedPlan

__all__ = ["DEFAULT_ROUTE", "DEFAULT_TOPIC", "AnyPlan", "Outbox", "Plan", "Route", "Router", "Values"]


def _wall_clock_us() -> int:
    return time.time_ns() // 1000


class Router:
    """From relations to plans; a relation that is no configured outbox has none."""

    def __init__(self, outboxes: Iterable[Outbox], *, now_us: Callable[[], int] = _wall_clock_us) -> None:
        self._outboxes: Mapping[tuple[str, str], Outbox] = {(box.schema, box.name): box for box in outboxes}
        self._labels: Mapping[str, Outbox] = {box.label: box for box in self._outboxes.values()}
        self._now_us = now_us

    @property
    def fixed_topics(self) -> tuple[str, ...]:
        """Those that a route names without looking at a row, each once."""
        routes = (route for outbox in self._outboxes.values() for route in outbox.routes)
        return tuple(dict.fromkeys(str(route.topic) for route in routes if not route.topic.columns))

    def plan(self, relation: Relation) -> AnyPlan | None:
        outbox = self._outboxes.get((relation.namespace, relation.name))
        if outbox is None:
            return None
        plan, column = _plan(outbox, relation.columns), outbox.schedule_column
        if column is None or isinstance(plan, IncompletePlan):
            return plan
        index = [described.name for described in relation.columns].index(column)
        return TimedPlan(plan, column=column, index=index, now_us=self._now_us)

    def route_columns(self, outbox_label: str, columns: Columns, timestamp_ms: int) -> Record | Unroutable:
        """A parked row again, from what was kept of it. It is due, whatever it says about its schedule."""
        outbox = self._labels.get(outbox_label)
        if outbox is None:
            return Unroutable(refusals.unknown_outbox(outbox_label), columns, UNROUTED)
        described = tuple(Column(name, type_oid, -1, False) for name, type_oid, _ in columns)
        plan = _plan(replace(outbox, schedule_column=None), described)
        return plan.route(tuple(value for _, _, value in columns), timestamp_ms)


def _plan(outbox: Outbox, columns: tuple[Column, ...]) -> Plan:
    names = {column.name for column in columns}
    return Plan(outbox, columns) if names.issuperset(outbox.columns) else IncompletePlan(outbox, columns)
