"""One row through the plan of one outbox."""

from __future__ import annotations

from cdc_relay.model import ErrorClass, Failure, Record, Transaction, Unroutable
from cdc_relay.protocol.messages import Column, Relation
from cdc_relay.routing.router import Outbox, Plan, Router

__all__ = ["BYTEA", "COLUMNS", "OUTBOX", "TEXT", "TRANSACTION", "failed", "make_plan", "relation", "route", "routed"]

OUTBOX = Outbox("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload")
COLUMNS = ("id", "aggregatetype", "aggregateid", "type", "payload")
TEXT, BYTEA, JSONB = 25, 17, 3802
TRANSACTION = Transaction(commit_lsn=0x16B3748, commit_time_us=7_000, xid=7)


def relation(*columns: str, payload: int = JSONB, schema: str = "public", name: str = "outbox") -> Relation:
    described = [Column(column, payload if column == "payload" else TEXT, -1, False) for column in columns or COLUMNS]
    return Relation(1, schema, name, "d", tuple(described))


def make_plan(described: Relation, outbox: Outbox = OUTBOX) -> Plan:
    plan = Router([outbox]).plan(described, now_us=lambda: 0)
    assert isinstance(plan, Plan)
    return plan


def route(*row: bytes | None, payload: int = JSONB) -> Record | Unroutable:
    outcome = make_plan(relation(payload=payload)).route(row, TRANSACTION, 0, 1_700_000_000_000)
    assert isinstance(outcome, Record | Unroutable)
    return outcome


def routed(*row: bytes | None, payload: int = JSONB) -> Record:
    record = route(*row, payload=payload)
    assert isinstance(record, Record), record
    return record


def failed(*row: bytes | None) -> Failure:
    unroutable = route(*row)
    assert isinstance(unroutable, Unroutable), unroutable
    assert unroutable.failure.error_class is ErrorClass.PERMANENT
    return unroutable.failure
