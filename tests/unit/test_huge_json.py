"""JSON that is too long or too deep to be read: a failure where a route has to look into it, and nothing elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdc_relay.model import KeptColumn, Policy, Record, Transaction, Unroutable
from cdc_relay.protocol.messages import Column, Relation
from cdc_relay.routing.conditions import Exact
from cdc_relay.routing.fields import Field
from cdc_relay.routing.json_text import LONGEST_BYTES
from cdc_relay.routing.outbox import DEFAULT_ROUTE, Outbox, Route
from cdc_relay.routing.router import Router
from cdc_relay.routing.templates import Template

OUTBOX = Outbox("public", "outbox", "public.outbox", "id", "aggregateid", "type", "payload")
MESSAGES = replace(OUTBOX, name="", label="message prefix outbox", message_prefix="outbox")
NAMES = ("id", "aggregatetype", "aggregateid", "type", "payload")
COLUMNS = tuple(Column(name, 3802 if name == "payload" else 25, -1, False) for name in NAMES)
TRANSACTION = Transaction(commit_lsn=1, commit_time_us=7_000, xid=7)
HUGE = {"long": b'{"a":"' + b"x" * LONGEST_BYTES + b'"}', "deep": b'{"a":"b","c":' + b"[" * 5000 + b"]" * 5000 + b"}"}
INTO_THE_PAYLOAD = (
    Route(Template.parse("inside"), Policy("inside"), ((Field.parse("payload.a"), Exact(b"b")),)),
    Route(Template.parse("rest"), Policy("rest")),
)

of_both_kinds = pytest.mark.parametrize("payload", HUGE.values(), ids=HUGE)


def route(payload: bytes, *routes: Route) -> object:
    plan = Router([replace(OUTBOX, routes=routes)]).plan(
        Relation(1, "public", "outbox", "d", COLUMNS), now_us=lambda: 0
    )
    assert plan is not None
    return plan.route((b"e1", b"order", b"k", b"T", payload), TRANSACTION, 0, 7)


def code_of(routed: object) -> str:
    assert isinstance(routed, Unroutable)
    return routed.failure.code


@of_both_kinds
def test_a_route_that_looks_into_it_fails_and_no_later_one_takes_the_row(payload: bytes) -> None:
    routed = route(payload, *INTO_THE_PAYLOAD)
    assert code_of(routed) == "huge_json"
    assert isinstance(routed, Unroutable)
    assert routed.value == payload


@of_both_kinds
def test_a_payload_that_passes_as_it_is_has_no_such_limit_and_none_after_a_park(payload: bytes) -> None:
    live = route(payload, DEFAULT_ROUTE)
    assert isinstance(live, Record)
    row = zip(COLUMNS, (b"e1", b"order", b"k", b"T", payload), strict=True)
    kept = [KeptColumn(column.name, column.type_oid, value) for column, value in row]
    assert Router([OUTBOX]).route_columns(OUTBOX.label, kept, TRANSACTION, 0) == live


@of_both_kinds
def test_a_message_is_kept_whole(payload: bytes) -> None:
    content = b'{"id":"e1","aggregatetype":"order","payload":' + payload + b"}"
    plan = Router([MESSAGES]).plan_messages(now_us=lambda: 0)["outbox"]
    routed = plan.route((content,), TRANSACTION, 0, 7)
    assert code_of(routed) == "huge_json"
    assert isinstance(routed, Unroutable)
    assert routed.columns == [KeptColumn("content", 25, content)]
    assert plan.event((content,)) == (None, None)
