"""How one relation's rows become records: an outbox bound to the places of its columns. `route` is the hot path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

from cdc_relay.model import (
    DROPPED,
    Columns,
    Dropped,
    Failure,
    KeptColumn,
    Policy,
    Record,
    Scheduled,
    Transaction,
    Unroutable,
)
from cdc_relay.protocol.messages import Column
from cdc_relay.routing import refusals
from cdc_relay.routing.bound_route import Destination
from cdc_relay.routing.destinations import Destinations
from cdc_relay.routing.fields import Values
from cdc_relay.routing.json_text import HugeJsonError
from cdc_relay.routing.outbox import Outbox
from cdc_relay.routing.places import Places
from cdc_relay.routing.schedule import parse_due
from cdc_relay.routing.values import BYTEA_OID, read_bytea

__all__ = ["IncompletePlan", "Plan", "RowPlan", "TimedPlan"]


class Plain(NamedTuple):
    """Where columns alone decide about a row: enough to route it without its other values."""

    depends: tuple[int, ...]  # columns
    known: Mapping[object, Destination]  # by their values; one alone is itself
    event: tuple[int, ...]  # columns
    unless: int = -1  # a column: only rows that are NULL there


class Plan:
    """One outbox's rows, as one relation message describes them. `route` takes about 0.8 us."""

    __slots__ = (
        "_depends",
        "_find",
        "_known",
        "_places",
        "column_count",
        "destinations",
        "event",
        "origin",
        "outbox",
        "plain",
    )

    def __init__(self, outbox: Outbox, columns: tuple[Column, ...]) -> None:
        self.outbox = outbox
        self.origin = outbox.origin
        self.column_count = len(columns)
        self._places = Places(columns)
        self._bind()

    def _bind(self) -> None:
        outbox, places = self.outbox, self._places
        self.destinations = destinations = Destinations(outbox, places)
        self._known, self._depends, self._find = destinations.known, destinations.depends, destinations.find
        # What Ticket.event carries. Two columns at least, so that it is always a tuple.
        self.event = cast("Callable[[Values], Values]", places.pick(list(outbox.event_columns)))
        columns = destinations.columns
        event = tuple(places.indexes[name] for name in outbox.event_columns)
        self.plain = None if columns is None else Plain(columns, destinations.cache, event)

    def route(
        self, row: Values, transaction: Transaction, ordinal: int, timestamp_ms: int
    ) -> Record | Unroutable | Dropped:
        try:
            key = self._depends(row)
            topic, policy, build, failure = self._known(key) or self._find(row, key)
            if build is None:
                return DROPPED if failure is None else self.refuse(row, failure, policy)
            built = build(row, topic, transaction, ordinal, timestamp_ms)
        except HugeJsonError:
            return self.refuse(row, refusals.huge_json(), self.outbox.unrouted)
        return built if type(built) is Record else self.refuse(row, cast(Failure, built), policy)

    def refuse(self, row: Values, failure: Failure, policy: Policy) -> Unroutable:
        columns: Columns = [
            KeptColumn(column.name, column.type_oid, value, column.type_modifier)
            for column, value in zip(self._places.columns, row, strict=True)
        ]
        return Unroutable(failure, columns, policy, self._part(row, self.outbox.key_column), self._payload(row))

    def _part(self, row: Values, name: str) -> bytes | None:
        index = self._places.indexes.get(name)
        return None if index is None else row[index]

    def _payload(self, row: Values) -> bytes | None:
        name = self.outbox.payload_column
        value = self._part(row, name)
        if value is None or self._places.column(name).type_oid != BYTEA_OID:
            return value
        try:
            return read_bytea(value)
        except ValueError:
            return value


class IncompletePlan(Plan):
    """The relation lacks columns that the outbox needs: every row is refused, and named as far as possible."""

    __slots__ = ("_missing",)

    def _bind(self) -> None:
        self._missing = tuple(name for name in self.outbox.columns if name not in self._places.indexes)
        self.event = self._known_facts
        self.plain: Plain | None = None

    def route(
        self, row: Values, transaction: Transaction, ordinal: int, timestamp_ms: int
    ) -> Record | Unroutable | Dropped:
        failure = refusals.missing_columns(self.outbox.label, self._missing)
        return self.refuse(row, failure, self.outbox.unrouted)

    def _known_facts(self, row: Values) -> Values:
        return tuple(self._part(row, name) for name in self.outbox.event_columns)


class TimedPlan:
    """A plan of an outbox whose rows may say when they are due; the clock is read for those alone."""

    __slots__ = (
        "_column",
        "_index",
        "_now_us",
        "_plan",
        "column_count",
        "event",
        "origin",
        "outbox",
        "plain",
        "refuse",
    )

    def __init__(self, plan: Plan, *, column: str, index: int, now_us: Callable[[], int]) -> None:
        self.outbox, self.origin = plan.outbox, plan.origin
        self.column_count, self.event, self.refuse = plan.column_count, plan.event, plan.refuse
        self.plain = None if plan.plain is None else plan.plain._replace(unless=index)  # whether it is due
        self._plan = plan
        self._column = column
        self._index = index
        self._now_us = now_us

    def route(
        self, row: Values, transaction: Transaction, ordinal: int, timestamp_ms: int
    ) -> Record | Scheduled | Unroutable | Dropped:
        routed = self._plan.route(row, transaction, ordinal, timestamp_ms)
        printed = row[self._index]
        if printed is None or type(routed) is not Record:
            return routed
        due = parse_due(printed)
        if due is None:
            return self._plan.refuse(row, refusals.bad_schedule(self._column), routed.policy)
        return Scheduled(routed, due.text) if due.at_us > self._now_us() else routed


RowPlan = Plan | TimedPlan
