"""Why a row goes where it goes: each route that was asked before, and what did not hold. For people, not for speed."""

from __future__ import annotations

from dataclasses import dataclass

from cdc_relay.model import Dropped, Record, Scheduled, Transaction, Unroutable
from cdc_relay.protocol.messages import Column, Relation
from cdc_relay.routing.conditions import Condition, holds
from cdc_relay.routing.fields import Field, Values
from cdc_relay.routing.json_text import HugeJsonError
from cdc_relay.routing.message_plan import MessagePlan
from cdc_relay.routing.outbox import Outbox, Route
from cdc_relay.routing.places import Places
from cdc_relay.routing.router import Router, wall_clock_us

__all__ = ["Explanation", "Miss", "explain_message", "explain_row"]


@dataclass(frozen=True, slots=True)
class Miss:
    """A route that did not take the row, and the first thing that did not hold."""

    route: str
    field: Field
    wanted: Condition
    found: bytes | None


@dataclass(frozen=True, slots=True)
class Explanation:
    misses: tuple[Miss, ...]
    route: str | None  # the one that took it
    outcome: Record | Scheduled | Unroutable | Dropped


def explain_row(outbox: Outbox, columns: tuple[Column, ...], row: Values, transaction: Transaction) -> Explanation:
    """`columns` describes the row as a Relation message would."""
    plan = Router([outbox]).plan(Relation(0, outbox.schema, outbox.name, "d", columns), now_us=wall_clock_us)
    assert plan is not None  # its own table
    outcome = plan.route(row, transaction, 0, transaction.commit_time_us // 1000)
    return _explain(outbox, columns, row, outcome)


def explain_message(outbox: Outbox, content: bytes, transaction: Transaction) -> Explanation:
    plan = Router([outbox]).plan_messages(now_us=wall_clock_us)[outbox.message_prefix or ""]
    assert isinstance(plan, MessagePlan)
    outcome = plan.route((content,), transaction, 0, transaction.commit_time_us // 1000)
    return _explain(outbox, *plan.describe((content,)), outcome)


def _explain(
    outbox: Outbox,
    columns: tuple[Column, ...],
    row: Values,
    outcome: Record | Scheduled | Unroutable | Dropped,
) -> Explanation:
    if not {column.name for column in columns}.issuperset(outbox.columns):
        return Explanation((), None, outcome)
    places, misses = Places(columns), list[Miss]()
    for route in outbox.routes:
        try:
            miss = _find_miss(route, places, row)
        except HugeJsonError:  # the outcome says so
            return Explanation(tuple(misses), None, outcome)
        if miss is None:
            return Explanation(tuple(misses), route.policy.route, outcome)
        misses.append(miss)
    return Explanation(tuple(misses), None, outcome)


def _find_miss(route: Route, places: Places, row: Values) -> Miss | None:
    for field, wanted in route.when:
        found = places.reader(field)(row)
        if not holds(wanted, found):
            return Miss(route.policy.route, field, wanted, found)
    return None
