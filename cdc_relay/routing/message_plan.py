"""How the messages of a prefix become records: JSON objects whose fields are the columns. A table-less outbox.

A message is a row with one column, its content; that is what is kept of one that cannot be routed.
"""

from __future__ import annotations

from collections.abc import Callable

from cdc_relay.model import Columns, Dropped, Failure, KeptColumn, Policy, Record, Scheduled, Transaction, Unroutable
from cdc_relay.protocol.messages import Column
from cdc_relay.routing import refusals
from cdc_relay.routing.fields import Values
from cdc_relay.routing.json_text import BadJsonError, HugeJsonError, plain, scan_object
from cdc_relay.routing.outbox import Outbox
from cdc_relay.routing.plan import RowPlan
from cdc_relay.routing.values import JSON_OID, TEXT_OID

__all__ = ["CONTENT", "MessagePlan"]

CONTENT = "content"


class MessagePlan:
    """A field that is not there is NULL: messages have no schema that could lack it."""

    column_count = 1

    def __init__(self, outbox: Outbox, bind: Callable[[tuple[Column, ...]], RowPlan]) -> None:
        self.outbox = outbox
        self.origin = outbox.origin
        self._names = outbox.columns
        self._with_json, self._with_text = bind(self._describe(JSON_OID)), bind(self._describe(TEXT_OID))
        self._opened: tuple[bytes, Values, RowPlan] | None = None  # the latest one: two calls come for each

    def route(
        self, row: Values, transaction: Transaction, ordinal: int, timestamp_ms: int
    ) -> Record | Scheduled | Unroutable | Dropped:
        try:
            values, plan = self._open(row)
        except BadJsonError:
            return self.refuse(row, refusals.bad_message(self.outbox.label), self.outbox.unrouted)
        except HugeJsonError:
            return self.refuse(row, refusals.huge_json(), self.outbox.unrouted)
        routed = plan.route(values, transaction, ordinal, timestamp_ms)
        return routed._replace(columns=_columns(row)) if isinstance(routed, Unroutable) else routed

    def event(self, row: Values) -> Values:
        try:
            values, plan = self._open(row)
        except (BadJsonError, HugeJsonError):
            return (None,) * len(self.origin.event_fields)
        return plan.event(values)

    def refuse(self, row: Values, failure: Failure, policy: Policy) -> Unroutable:
        """Without a look into it: opening it may be what killed the process."""
        return Unroutable(failure, _columns(row), policy, None, row[0])

    def describe(self, row: Values) -> tuple[tuple[Column, ...], Values]:
        """The message as a row of an outbox that has every column; nothing at all of what is no object."""
        try:
            values, plan = self._open(row)
        except (BadJsonError, HugeJsonError):
            return (), ()
        return self._describe(TEXT_OID if plan is self._with_text else JSON_OID), values

    def _open(self, row: Values) -> tuple[Values, RowPlan]:
        content = row[0] or b""
        if self._opened is None or self._opened[0] is not content:
            fields = scan_object(content)
            payload = fields.get(self.outbox.payload_column, "")
            plan = self._with_text if payload[:1] == '"' else self._with_json
            values = tuple(plain(fields[name]) if name in fields else None for name in self._names)
            self._opened = content, values, plan
        return self._opened[1:]

    def _describe(self, payload_oid: int) -> tuple[Column, ...]:
        payload = self.outbox.payload_column
        return tuple(Column(name, payload_oid if name == payload else TEXT_OID, -1, False) for name in self._names)


def _columns(row: Values) -> Columns:
    return [KeptColumn(CONTENT, TEXT_OID, row[0])]
