"""Which outbox a relation or a message is, and how its rows become records. Compiled once, then only looked up.

Without routes of its own an outbox has Debezium's: topic `outbox.event.{aggregatetype}`, key, payload, header `id`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from cdc_relay.model import Columns, Dropped, KeptColumn, Record, Scheduled, Transaction, Unroutable
from cdc_relay.protocol.messages import Column, Relation
from cdc_relay.routing import refusals
from cdc_relay.routing.fields import Values
from cdc_relay.routing.json_text import HugeJsonError, is_json
from cdc_relay.routing.message_plan import CONTENT, MessagePlan
from cdc_relay.routing.outbox import DEFAULT_ROUTE, DEFAULT_TOPIC, UNROUTED, Outbox, Route
from cdc_relay.routing.plan import IncompletePlan, Plan, RowPlan, TimedPlan
from cdc_relay.routing.values import JSON_OIDS

__all__ = [
    "DEFAULT_ROUTE",
    "DEFAULT_TOPIC",
    "AnyPlan",
    "Clock",
    "Outbox",
    "Plan",
    "Route",
    "Router",
    "Values",
    "wall_clock_us",
]

AnyPlan = RowPlan | MessagePlan
Clock = Callable[[], int]  # microseconds since 1970


def wall_clock_us() -> int:
    return time.time_ns() // 1000


class Router:
    """From relations and prefixes to plans; what is no configured outbox has none.

    A plan's `now_us` decides what is due. A stream knows the server's time: this machine's own clock may be wrong.
    """

    def __init__(self, outboxes: Iterable[Outbox]) -> None:
        self._labels: Mapping[str, Outbox] = {box.label: box for box in outboxes}
        boxes = self._labels.values()
        self._tables = {(box.schema, box.name): box for box in boxes if box.message_prefix is None}
        self._prefixes = {box.message_prefix: box for box in boxes if box.message_prefix is not None}

    @property
    def fixed_topics(self) -> tuple[str, ...]:
        """Those that a route names without looking at a row, each once."""
        return tuple(dict.fromkeys(topic for outbox in self._labels.values() for topic in outbox.fixed_topics))

    def plan(self, relation: Relation, *, now_us: Clock) -> AnyPlan | None:
        outbox = self._tables.get((relation.namespace, relation.name))
        return None if outbox is None else self._bind(outbox, relation.columns, now_us)

    def plan_messages(self, *, now_us: Clock) -> dict[str, AnyPlan]:
        """By prefix."""
        return {prefix: self._bind_messages(box, now_us) for prefix, box in self._prefixes.items()}

    def route_columns(
        self, outbox_label: str, columns: Columns, transaction: Transaction, ordinal: int
    ) -> Record | Unroutable | Dropped:
        """A parked row again, from what was kept of it. It is due, whatever it says about its schedule."""
        outbox = self._labels.get(outbox_label)
        if outbox is None:
            return Unroutable(refusals.unknown_outbox(outbox_label), columns, UNROUTED)
        if outbox.message_prefix is not None and [column.name for column in columns] != [CONTENT]:
            return Unroutable(refusals.bad_message(outbox_label), columns, UNROUTED)
        if spoiled := [column.name for column in columns if _is_spoiled(column)]:
            return Unroutable(refusals.spoiled_json(spoiled[0]), columns, UNROUTED)
        outbox = replace(outbox, schedule_column=None)
        described = tuple(Column(kept.name, kept.type_oid, kept.type_modifier, False) for kept in columns)
        plan = (
            self._bind(outbox, described, wall_clock_us)
            if outbox.message_prefix is None
            else self._bind_messages(outbox, wall_clock_us)
        )
        row = tuple(column.value for column in columns)
        routed = plan.route(row, transaction, ordinal, (transaction.commit_time_us or wall_clock_us()) // 1000)
        return routed.record if isinstance(routed, Scheduled) else routed

    def _bind_messages(self, outbox: Outbox, now_us: Clock) -> MessagePlan:
        return MessagePlan(outbox, lambda columns: self._bind(outbox, columns, now_us))

    def _bind(self, outbox: Outbox, columns: tuple[Column, ...], now_us: Clock) -> RowPlan:
        names = [column.name for column in columns]
        if not set(names).issuperset(outbox.columns):
            return IncompletePlan(outbox, columns)
        plan, column = Plan(outbox, columns), outbox.schedule_column
        if column is None:
            return plan
        return TimedPlan(plan, column=column, index=names.index(column), now_us=now_us)


def _is_spoiled(column: KeptColumn) -> bool:
    """Postgres has checked what is in a JSON column, but nobody what an operator made of it."""
    if column.type_oid not in JSON_OIDS or column.value is None:
        return False
    try:
        return not is_json(column.value)
    except HugeJsonError:  # routing says so, if it has to look
        return False
