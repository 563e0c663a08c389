"""How one relation's rows become records: an outbox bound to the places of its columns. `route` is the hot path."""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Callable
from typing import cast

from cdc_relay.model import Columns, Failure, Headers, Policy, Record, Scheduled, Unroutable
from cdc_relay.protocol.messages import Column
from cdc_relay.routing import refusals
from cdc_relay.routing.destinations import Destinations, Values, pick
from cdc_relay.routing.outbox import Outbox
from cdc_relay.routing.schedule import parse_due

__all__ = ["AnyPlan", "IncompletePlan", "Plan", "TimedPlan"]

_BYTEA_OID = 17
_new = tuple.__new__  # what Record(...) ends in: 0.1 us less per row


class Plan:
    """One outbox's rows, as one relation message describes them. `route` takes about 0.7 us."""

    __slots__ = (
        "_columns",
        "_depends",
        "_find",
        "_indexes",
        "_known",
        "_parts",
        "_payload_is_bytea",
        "column_count",
        "event",
        "origin",
        "outbox",
    )

    def __init__(self, outbox: Outbox, columns: tuple[Column, ...]) -> None:
        self.outbox = outbox
        self.origin = outbox.origin
        self.column_count = len(columns)
        self._columns = columns
        self._indexes = {column.name: index for index, column in enumerate(columns)}
        payload = self._indexes.get(outbox.payload_column)
        self._payload_is_bytea = payload is not None and columns[payload].type_oid == _BYTEA_OID
        self._bind()

    def _bind(self) -> None:
        outbox, indexes = self.outbox, self._indexes
        destinations = Destinations(outbox, indexes)
        self._known, self._depends, self._find = destinations.known, destinations.depends, destinations.find
        parts = [indexes[name] for name in (outbox.id_column, outbox.key_column, outbox.payload_column)]
        self._parts = cast("Callable[[Values], Values]", pick(parts))
        # What Ticket.event carries. Two columns at least, so that it is always a tuple.
        self.event = cast("Callable[[Values], Values]", pick([indexes[name] for name in outbox.event_columns]))

    def route(self, row: Values, timestamp_ms: int) -> Record | Unroutable:
        topic, policy, failure = self._known(self._depends(row)) or self._find(row)
        event_id, key, value = self._parts(row)
        if key is None and policy.strict and failure is None:
            failure = refusals.null_key(self.outbox.key_column, policy.route)
        if failure is not None:
            return self.refuse(row, failure, policy)
        if self._payload_is_bytea and value is not None:
            try:
                value = _read_bytea(value)
            except ValueError:
                return self.refuse(row, refusals.bad_bytea(self.outbox.payload_column), policy)
        headers: Headers = [("id", event_id)]
        size = 2 + len(event_id or b"") + len(key or b"") + len(value or b"")
        return _new(Record, (topic, key, value, headers, timestamp_ms, size, policy, -1))

    def refuse(self, row: Values, failure: Failure, policy: Policy) -> Unroutable:
        columns: Columns = [
            (column.name, column.type_oid, value) for column, value in zip(self._columns, row, strict=True)
        ]
        return Unroutable(failure, columns, policy, self._part(row, self.outbox.key_column), self._payload(row))

    def _part(self, row: Values, name: str) -> bytes | None:
        index = self._indexes.get(name)
        return None if index is None else row[index]

    def _payload(self, row: Values) -> bytes | None:
        value = self._part(row, self.outbox.payload_column)
        if value is None or not self._payload_is_bytea:
            return value
        try:
            return _read_bytea(value)
        except ValueError:
            return value


class IncompletePlan(Plan):
    """The relation lacks columns that the outbox needs: every row is refused, and named as far as possible."""

    __slots__ = ("_missing",)

    def _bind(self) -> None:
        self._missing = tuple(name for name in self.outbox.columns if name not in self._indexes)
        self.event = self._known_facts

    def route(self, row: Values, timestamp_ms: int) -> Record | Unroutable:
        failure = refusals.missing_columns(self.outbox.label, self._missing)
        return self.refuse(row, failure, self.outbox.unrouted)

    def _known_facts(self, row: Values) -> Values:
        return tuple(self._part(row, name) for name in self.outbox.event_columns)


class TimedPlan:
    """A plan of an outbox whose rows may say when they are due; the clock is read for those alone."""

    __slots__ = ("_column", "_index", "_now_us", "_plan", "column_count", "event", "origin", "outbox", "refuse")

    def __init__(self, plan: Plan, *, column: str, index: int, now_us: Callable[[], int]) -> None:
        self.outbox, self.origin = plan.outbox, plan.origin
        self.column_count, self.event, self.refuse = plan.column_count, plan.event, plan.refuse
        self._plan = plan
        self._column = column
        self._index = index
        self._now_us = now_us

    def route(self, row: Values, timestamp_ms: int) -> Record | Scheduled | Unroutable:
        routed = self._plan.route(row, timestamp_ms)
        printed = row[self._index]
        if printed is None or type(routed) is not Record:
            return routed
        due = parse_due(printed)
        if due is None:
            return self._plan.refuse(row, refusals.bad_schedule(self._column), routed.policy)
        return Scheduled(routed, due.text) if due.at_us > self._now_us() else routed


AnyPlan = Plan | TimedPlan


def _read_bytea(text: bytes) -> bytes:
    """bytea_output=hex is pinned for the session, so the value is `\\x` and hexadecimal digits."""
    return unhexlify(text[2:])
